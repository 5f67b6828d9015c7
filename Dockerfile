# syntax=docker/dockerfile:1
FROM python:3.13-slim AS build
COPY requirements/image.txt /requirements.txt
RUN python -m venv /venv && /venv/bin/pip install --no-cache-dir --require-hashes --only-binary :all: -r /requirements.txt

FROM python:3.13-slim
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 DJANGO_SETTINGS_MODULE=config.settings.prod
RUN useradd --system --uid 10001 --home-dir /data aforo && install -d -o aforo -g aforo /data
COPY --from=build /venv /venv
WORKDIR /app
COPY . .
# Static files are part of the image; the settings only want their variables to be there.
RUN AFORO_SECRET_KEY=build AFORO_ALLOWED_HOSTS=build DATABASE_URL=postgres://build/build AFORO_BROKER_URL=redis://build \
    AFORO_STATIC_DIR=/static python manage.py collectstatic --no-input --verbosity 0
ENV AFORO_STATIC_DIR=/static AFORO_DATA_DIR=/data
USER aforo
VOLUME /data
EXPOSE 8000
CMD ["granian", "--interface", "rsgi", "--host", "0.0.0.0", "--port", "8000", "--workers", "2", "--http", "1", "--no-ws", \
     "--http1-header-read-timeout", "10000", "--backlog", "4096", "--backpressure", "4096", "--respawn-failed-workers", "--workers-kill-timeout", "10", "config.rsgi:application"]
