import { readFile } from 'node:fs/promises';
import { type ApiApp, newApiApp } from '#conductor/http/api-app.ts';
import { frameworkFault } from '#conductor/http/fault.ts';

/** Of the package `swagger-ui-dist`: a page without a network of its own needs no more. */
const served = {
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'swagger-ui.css': 'text/css; charset=utf-8',
  'favicon-32x32.png': 'image/png',
} as const;
const isServed = (file: string): file is keyof typeof served => Object.hasOwn(served, file);

// addresses are relative, so that the page works behind a proxy that puts a path in front
const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Baton API</title>
<link rel="stylesheet" href="docs/swagger-ui.css">
<link rel="icon" href="docs/favicon-32x32.png">
</head>
<body>
<div id="api"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
`;

// validatorUrl: by default the page sends the document's address to a service on the internet
const start = `SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#api',
  deepLinking: true,
  docExpansion: 'none',
  filter: true,
  validatorUrl: null,
});
`;

/**
 * `/openapi.json`, and `/docs`, the same as a page, made of files of this host alone.
 * @param describe makes the document; called once, when it is first asked for.
 */
export function docsRoutes(describe: () => Record<string, unknown>): ApiApp {
  const app = newApiApp();
  let document: Record<string, unknown> | undefined;
  app.get('/openapi.json', (c) => c.json((document ??= describe())));
  app.use('/docs', async (c, next) => {
    await next();
    // the page's own scripts and styles, and requests to this API
    const sources = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:";
    // in another site's frame, its buttons would act for whoever clicks
    c.header('Content-Security-Policy', `${sources}; frame-ancestors 'none'`);
    c.header('X-Frame-Options', 'DENY');
  });
  app.get('/docs', (c) => {
    // below `/docs/` the page's relative addresses lead nowhere
    return new URL(c.req.url).pathname.endsWith('/') ? c.redirect('../docs', 301) : c.html(page);
  });
  app.get('/docs/:file', async (c) => {
    const file = c.req.param('file');
    if (file === 'start.js') return c.body(start, 200, { 'Content-Type': 'text/javascript; charset=utf-8' });
    if (!isServed(file)) return frameworkFault(c, 404, '');
    const content = await readFile(new URL(file, import.meta.resolve('swagger-ui-dist/package.json')));
    return c.body(content, 200, { 'Content-Type': served[file], 'Cache-Control': 'public, max-age=86400' });
  });
  return app;
}
