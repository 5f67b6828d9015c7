"""Content security policies, as django-csp reads them."""

from typing import Any

from csp.constants import NONE, SELF, UNSAFE_EVAL, UNSAFE_INLINE

CONTENT_SECURITY_POLICY: dict[str, Any] = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "connect-src": [SELF],
        "font-src": [SELF],
        "img-src": [SELF, "data:"],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}

# The theme evaluates expressions in attributes and writes styles; it is for staff only.
ADMIN_CONTENT_SECURITY_POLICY: dict[str, list[str]] = {
    "default-src": [SELF],
    "script-src": [SELF, UNSAFE_INLINE, UNSAFE_EVAL],
    "style-src": [SELF, UNSAFE_INLINE],
    "img-src": [SELF, "data:", "blob:"],
    "font-src": [SELF, "data:"],
    "connect-src": [SELF],
    "form-action": [SELF],
    "object-src": [NONE],
    "base-uri": [NONE],
    "frame-ancestors": [NONE],
}
