"""Files that come as bodies: written to the scratch disk as they come, so that neither memory nor a thread waits."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import IO, Any

from django.conf import settings
from django.utils.translation import gettext as _

from config.bodies import Environ, RefusedError, length_of, limit_of
from estimator.api.uploads import PIECE_BYTES, spool

InThread = Callable[..., Awaitable[Any]]
_FILES_FOR_EACH_ANSWER = 2


class Spooler:
    """Writes uploads to disk, few at once; used on one event loop only."""

    def __init__(self, in_thread: InThread) -> None:
        self._in_thread = in_thread
        self.coming = 0

    async def read(self, source: AsyncIterator[bytes], environ: Environ) -> IO[bytes]:
        """The upload as a file at its beginning; `CONTENT_LENGTH` is then its length.

        Raises:
            RefusedError: too many come already (503); it is too large (413), not whole (400), or late (408).
        """
        if self.coming >= _FILES_FOR_EACH_ANSWER * settings.AFORO_BATCHES_AT_ONCE:
            detail = _("Too many uploads are on their way; try again shortly.")
            raise RefusedError(503, "unavailable", _("Temporarily unavailable"), detail, environ)
        self.coming += 1
        kept = await self._in_thread(spool)
        try:
            environ["CONTENT_LENGTH"] = str(await self._write(source, kept, environ))
        except BaseException:
            kept.close()
            raise
        finally:
            self.coming -= 1
        kept.seek(0)
        return kept  # type: ignore[no-any-return]  # what a thread returns has no type

    async def _write(self, source: AsyncIterator[bytes], kept: IO[bytes], environ: Environ) -> int:
        """The length of what came."""
        limit, stated, length = limit_of(environ), length_of(environ), 0
        piece = bytearray()
        try:
            async with asyncio.timeout(settings.AFORO_UPLOAD_WITHIN_S), asyncio.timeout(None) as silence:
                loop = asyncio.get_running_loop()
                silence.reschedule(loop.time() + settings.AFORO_BODY_WITHIN_S)
                async for part in source:
                    silence.reschedule(loop.time() + settings.AFORO_BODY_WITHIN_S)
                    length += len(part)
                    if length > limit:
                        detail = _("The upload may hold at most %(n)d bytes.") % {"n": limit}
                        raise RefusedError(413, "body-too-large", _("The body is too large"), detail, environ)
                    piece += part
                    if len(piece) >= PIECE_BYTES:
                        await self._in_thread(kept.write, bytes(piece))
                        piece.clear()
        except TimeoutError:
            detail = _("The upload must be here within %(n)d s.") % {"n": settings.AFORO_UPLOAD_WITHIN_S}
            raise RefusedError(408, "request-timeout", _("The body did not come in time"), detail, environ) from None
        if length < stated:
            detail = _("The connection ended before the body did.")
            raise RefusedError(400, "malformed-body", _("The body is not whole"), detail, environ)
        await self._in_thread(kept.write, bytes(piece))
        return length
