import { readFile } from 'node:fs/promises';
import { type ApiApp } from '#conductor/http/routing/define-routes.ts';
import { frameworkFault } from '#conductor/http/routing/error-answers.ts';

/** Files of the package `swagger-ui-dist`: a page without a network of its own needs no more. */
const swaggerFiles = {
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'swagger-ui.css': 'text/css; charset=utf-8',
  'favicon-32x32.png': 'image/png',
} as const;
const isServed = (file: string): file is keyof typeof swaggerFiles => Object.hasOwn(swaggerFiles, file);

// addresses are relative, so that the page works behind a proxy that puts a path in front
const swaggerPage = `<!doctype html>
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
 * Serves `/openapi.json`, and `/docs`, the same as a page, made of files of this host alone.
 * @param describe makes the document; called once, when it is first asked for.
 */
export function docsRoutes(app: ApiApp, describe: () => Record<string, unknown>): void {
  let document: Record<string, unknown> | undefined;
  app.get('/openapi.json', (c) => c.json((document ??= describe())));
  app.use('/docs', async (c, next) => {
    await next();
    // the page's own scripts and styles, and requests to this API
    const sources = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:";
    // in another site's frame, its buttons would act for anyone who clicks
    c.header('Content-Security-Policy', `${sources}; frame-ancestors 'none'`);
    c.header('X-Frame-Options', 'DENY');
  });
  app.get('/docs', (c) => {
    // below `/docs/` the page's relative addresses lead nowhere
    return new URL(c.req.url).pathname.endsWith('/') ? c.redirect('../docs', 301) : c.html(swaggerPage);
  });
  app.get('/docs/:file', async (c) => {
    const file = c.req.param('file');
    if (file === 'start.js') return c.body(start, 200, { 'Content-Type': 'text/javascript; charset=utf-8' });
    if (!isServed(file)) return frameworkFault(c, 404, '');
    const content = await readFile(new URL(file, import.meta.resolve('swagger-ui-dist/package.json')));
    return c.body(content, 200, { 'Content-Type': swaggerFiles[file], 'Cache-Control': 'public, max-age=86400' });
  });
}

/** Below `/board/`; scripts are bundles. */
const boardFiles: ReadonlyMap<string, { readonly url: URL; readonly type: string }> = new Map([
  ['board.css', { url: new URL('../../board/board.css', import.meta.url), type: 'text/css; charset=utf-8' }],
  ['views.css', { url: new URL('../../board/views.css', import.meta.url), type: 'text/css; charset=utf-8' }],
  ['board.js', { url: new URL('../../board/board.ts', import.meta.url), type: 'text/javascript; charset=utf-8' }],
  // when a console is opened
  ['terminal.js', { url: new URL('../../board/terminal.ts', import.meta.url), type: 'text/javascript; charset=utf-8' }],
]);
const boardPage = new URL('../../board/board.html', import.meta.url);

// the board makes no style or script at run time, and names from machines must not become any
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/**
 * Serves `/board`, made of files of this host alone: the fleet, the work on each node, and the reason why it waits. Browsers
 * get there from `/`.
 */
export function boardRoutes(app: ApiApp): void {
  app.get('/', async (c, next) => {
    if (c.req.header('accept')?.includes('text/html') !== true) return next();
    return c.body(null, 302, { Location: 'board', Vary: 'Accept' });
  });
  app.get('/board', async (c) => {
    // below `/board/` the page's relative addresses lead nowhere
    if (new URL(c.req.url).pathname.endsWith('/')) return c.redirect('../board', 301);
    return c.html(await readFile(boardPage, 'utf8'), 200, {
      'Content-Security-Policy': policy,
      'X-Frame-Options': 'DENY',
      'Referrer-Policy': 'no-referrer',
    });
  });
  app.get('/board/:file', async (c) => {
    const file = boardFiles.get(c.req.param('file'));
    if (file === undefined) return frameworkFault(c, 404, '');
    return c.body(await readFile(file.url), 200, { 'Content-Type': file.type });
  });
}
