"""Codes of currencies in use: ISO 4217 list one, as amended to January 2026.

Left out are the codes of metals, of funds, for testing (XTS) and for no currency (XXX): no bill is made out in them.
"""

_LIST_ONE = """
AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CLP CNY COP
CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR
IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU
MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG
SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VES VND VUV WST
XAF XCD XCG XOF XPF YER ZAR ZMW ZWG
"""

# Left circulation lately, and stand on bills of years that are asked about.
_FORMER = "ANG BGN HRK SLL ZWL"

_KNOWN = frozenset((_LIST_ONE + _FORMER).split())


def is_currency(code: str) -> bool:
    """Whether bills are, or lately were, made out in this currency."""
    return code in _KNOWN
