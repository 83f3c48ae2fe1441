FROM node:22-slim AS page
WORKDIR /build/web
COPY web/package.json web/package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY web ./
RUN npm run build

FROM python:3.12-slim
WORKDIR /srv
COPY requirements.lock ./
RUN pip install --no-cache-dir --require-hashes -r requirements.lock
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
COPY --from=page /build/src/clew/api/page ./src/clew/api/page
RUN pip install --no-cache-dir --no-deps . && rm -rf src \
    && useradd --system --create-home clew && mkdir /data && chown clew /data

USER clew
ENV CLEW_DATA=/data
VOLUME /data
EXPOSE 8765
CMD ["clew", "serve"]
