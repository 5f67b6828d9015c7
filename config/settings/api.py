"""Settings of the REST framework and of the schema."""

from typing import Any

from config import env

# Generous: they stop runaway clients, not work. Development raises the one for anonymous people.
THROTTLE_RATES = {
    "anon": env.rate("AFORO_THROTTLE_ANON", "1200/min"),
    "user": env.rate("AFORO_THROTTLE_USER", "60000/min"),
    "estimates": env.rate("AFORO_THROTTLE_ESTIMATES", "60000/min"),
    "reports-create": env.rate("AFORO_THROTTLE_REPORTS_CREATE", "120/min"),
    "invalid-tokens": env.rate("AFORO_THROTTLE_INVALID_TOKENS", "30/min"),
    "share-links": env.rate("AFORO_THROTTLE_SHARE_LINKS", "120/min"),
}

REST_FRAMEWORK: dict[str, Any] = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "config.access.authentication.BearerAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["catalog.api.permissions.ScopedAccess"],
    "DEFAULT_THROTTLE_CLASSES": ["config.throttling.RequestThrottle"],
    "DEFAULT_THROTTLE_RATES": THROTTLE_RATES,
    "DEFAULT_PARSER_CLASSES": ["catalog.api.json_format.JsonParser"],
    "DEFAULT_RENDERER_CLASSES": ["catalog.api.json_format.JsonRenderer"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "catalog.api.negotiation.NeverNotAcceptable",
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "config.api_errors.exception_handler",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
    "TEST_REQUEST_RENDERER_CLASSES": ["catalog.api.json_format.JsonRenderer"],
    # `?format=` belongs to downloads.
    "URL_FORMAT_OVERRIDE": None,
    # How many proxies in front add to X-Forwarded-For; with 0 the header, which anyone can send, is not believed.
    "NUM_PROXIES": env.integer("AFORO_TRUSTED_PROXIES", 0, at_least=0, at_most=10),
}

SPECTACULAR_SETTINGS: dict[str, Any] = {
    "TITLE": "Aforo",
    "DESCRIPTION": "Capacity, speed and cost of LLM inference, with the working shown.",
    # The order in which pages of the API show them: what people come for first.
    "TAGS": [
        {"name": "estimates", "description": "Memory, speed, cost, caching, sizing, tokens: computed at once."},
        {"name": "reports", "description": "Sweeps as saved, versioned reports with files; need a token."},
        {
            "name": "receipts",
            "description": "Predictions kept, measurements held against them, calibrations; need a token.",
        },
        {"name": "manifests", "description": "What starts a server, read as the question that it asks."},
        {"name": "models", "description": "Language models: what is known of each, and reading a config.json."},
        {"name": "gpus", "description": "Accelerators: memory, bandwidth, dense peaks, links."},
        {"name": "engine-profiles", "description": "Serving engines: constants, evidence, calibration on own runs."},
        {"name": "presets", "description": "Use cases: lengths and targets to start from."},
        {"name": "gpu-offers", "description": "Prices of GPU hours."},
        {"name": "api-prices", "description": "Prices of token meters, dated."},
        {"name": "api-models", "description": "Models as sellers name them: names, life, windows."},
        {"name": "cache-policies", "description": "Providers' rules of prompt caching."},
        {"name": "providers", "description": "Sellers of GPU hours and tokens."},
    ],
    "VERSION": "1",
    "OAS_VERSION": "3.1.1",
    "SERVE_INCLUDE_SCHEMA": False,
    # Fields that share a name but not their values would otherwise get a made-up name.
    "ENUM_NAME_OVERRIDES": {
        "VersionKind": ["sweep", "recost"],
        "FindingKind": [
            "largest_batch_that_fits",
            "knee",
            "best_within_slo",
            "pareto_frontier",
            "cheapest_feasible",
            "quantisation_stops_helping",
            "tp_stops_helping",
        ],
    },
    "SERVE_PERMISSIONS": ["catalog.api.permissions.ScopedAccess"],
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "COMPONENT_SPLIT_REQUEST": True,
    # Lists of choices stay where they are used: components named after fields (KindEnum) collide as fields come and go.
    "POSTPROCESSING_HOOKS": [
        "config.openapi.one_name_each",
        "config.openapi.empty_addresses",
        "config.openapi_headers.declared_headers",
    ],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "SWAGGER_UI_SETTINGS": {"deepLinking": True, "displayRequestDuration": True, "validatorUrl": None},
}
