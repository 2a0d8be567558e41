import { afterAll, beforeAll, expect, test } from 'vitest';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi({ settings: { BATON_AUTH: 'token' } });
});
afterAll(() => api.close());

test('browsers get from / to the board, clients get the version document', async () => {
  const browser = await api.request('/', { headers: { accept: 'text/html,application/xhtml+xml' } });
  expect([browser.status, browser.headers.get('location')]).toEqual([302, 'board']);
  const client = await api.request('/', { headers: { accept: '*/*' } });
  expect([client.status, client.headers.get('content-type')]).toEqual([200, 'application/json']);
});

test('the page needs no login, and may load nothing from elsewhere', async () => {
  const page = await api.request('/board');
  expect(page.status).toBe(200);
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'; script-src 'self'");
  const text = await page.text();
  expect(text).not.toMatch(/https?:|<script(?! src=)|\sstyle=|\son[a-z]+=/);
  const files = [...text.matchAll(/(?:src|href)="(board\/[^"]+)"/g)].map(([, file]) => `/${file}`);
  expect(files).toHaveLength(3);
  for (const file of files) expect((await api.request(file)).status).toBe(200);
});

test('the terminal is a script of its own, loaded when a console is opened', async () => {
  expect(await (await api.request('/board')).text()).not.toContain('terminal.js');
  expect((await api.request('/board/terminal.js')).headers.get('content-type')).toContain('text/javascript');
});

test('nothing else is below it', async () => {
  expect((await api.request('/board/render-board.ts')).status).toBe(404);
  expect((await api.request('/board/__proto__')).status).toBe(404);
  expect((await api.request('/board/')).headers.get('location')).toBe('../board');
});
