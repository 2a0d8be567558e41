import { readFile } from 'node:fs/promises';
import { type ApiApp, newApiApp } from '#conductor/http/api-app.ts';
import { frameworkFault } from '#conductor/http/fault.ts';

/** Below `/board/`; scripts are bundles. */
const served: ReadonlyMap<string, { readonly url: URL; readonly type: string }> = new Map([
  ['board.css', { url: new URL('../board/board.css', import.meta.url), type: 'text/css; charset=utf-8' }],
  ['board.js', { url: new URL('../board/board.ts', import.meta.url), type: 'text/javascript; charset=utf-8' }],
  // when a console is opened
  ['terminal.js', { url: new URL('../board/terminal.ts', import.meta.url), type: 'text/javascript; charset=utf-8' }],
]);
const page = new URL('../board/board.html', import.meta.url);

// the board makes no style or script at run time, and names from machines must not become any
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** `/board`, made of files of this host alone: the fleet, what each node is doing, and why it waits. Browsers get there from `/`. */
export function boardRoutes(): ApiApp {
  const app = newApiApp();
  app.get('/', async (c, next) => {
    if (c.req.header('accept')?.includes('text/html') !== true) return next();
    return c.body(null, 302, { Location: 'board', Vary: 'Accept' });
  });
  app.get('/board', async (c) => {
    // below `/board/` the page's relative addresses lead nowhere
    if (new URL(c.req.url).pathname.endsWith('/')) return c.redirect('../board', 301);
    return c.html(await readFile(page, 'utf8'), 200, {
      'Content-Security-Policy': policy,
      'X-Frame-Options': 'DENY',
      'Referrer-Policy': 'no-referrer',
    });
  });
  app.get('/board/:file', async (c) => {
    const file = served.get(c.req.param('file'));
    if (file === undefined) return frameworkFault(c, 404, '');
    return c.body(await readFile(file.url), 200, { 'Content-Type': file.type, 'X-Content-Type-Options': 'nosniff' });
  });
  return app;
}
