import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BoardBrowser, openBoardBrowser } from '#test/support/board-browser.ts';
import { type ConductorProcess, prepareConductor } from '#test/support/conductor.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';

/** The board in Debian's Chromium: what only a browser can show. */

const timeout = 120_000;
const hostile = `<img src=x onerror="document.title='taken'"> \u202egnihton`;

let conductor: ConductorProcess;
let browser: BoardBrowser;
let page: Page;
let operator: Operator;

const call: Operator['call'] = (...request) => operator.call(...request);

const see = (text: string | RegExp) => browser.see(text);
const accessibilityFaults = () => browser.accessibilityFaults();
const provision = (name: string, body: object) => call('PUT', `/v1/nodes/${name}/states/provision`, body);
const picture = (name: string) => browser.picture(name);

beforeAll(async () => {
  conductor = await prepareConductor({ BATON_AUTH: 'token' });
  await conductor.start();
  const admin = (await readFile(join(conductor.dataDirectory, 'admin-token'), 'utf8')).trim();
  operator = createOperator(conductor.url, { token: admin });
  for (const name of ['rack1-01', 'rack1-02']) {
    await call('POST', '/v1/nodes', { name, driver: 'fake-hardware', driver_info: { fake_id: name } });
  }
  browser = await openBoardBrowser();
  ({ page } = browser);
});
afterAll(async () => {
  await browser?.close();
  await conductor.close();
});

test('a stranger sees a login, and a token opens the fleet, which stays open after a reload', { timeout }, async () => {
  const { token } = await call('POST', '/v1/tokens', { name: 'watcher', role: 'member' });
  await page.goto(`${conductor.url}/board`);
  await page.locator('#token').waitFor({ timeout });
  expect(await accessibilityFaults()).toEqual([]);
  await page.keyboard.type('nobody-knows-this-token');
  await page.keyboard.press('Enter');
  await see(/not known|token|denied/i);
  await page.locator('#token').fill(String(token));
  await page.keyboard.press('Enter');
  await see('rack1-01');
  await see(/2\s*nodes/);
  await page.reload();
  await see('rack1-02');
  expect(await page.evaluate('document.cookie + JSON.stringify({ ...localStorage, ...sessionStorage })')).toBe('{}');
  expect(await accessibilityFaults()).toEqual([]);
  await browser.pictures('fleet');
});

test('what changes is seen without a reload, and a machine’s words stay words', { timeout }, async () => {
  await page.evaluate("window.stays = 'the same page'");
  await call('PUT', '/v1/nodes/rack1-02/maintenance', { reason: hostile });
  await see('⚑ maintenance');
  expect(await page.locator('#rows').textContent()).toContain(hostile);
  expect(await page.title()).toBe('Baton');
  expect(await page.evaluate('window.stays')).toBe('the same page');
});

test('a node that rests is found, read and sent on by the keyboard alone', { timeout: 2 * timeout }, async () => {
  await provision('rack1-01', { target: 'manage' });
  await see('manageable');
  const hold = { interface: 'deploy', step: 'hold', args: {} };
  await provision('rack1-01', { target: 'clean', clean_steps: [hold], disable_ramdisk: true });
  await see(/‖ held/);
  await page.keyboard.press('/');
  await page.keyboard.type('rack1-01');
  await page.locator('#rows', { hasNotText: 'rack1-02' }).waitFor({ timeout });
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.locator('#act-unhold').waitFor({ timeout });
  await see('deploy.hold');
  expect(await accessibilityFaults()).toEqual([]);
  await browser.pictures('node');
  await page.locator('#act-unhold').focus();
  await page.keyboard.press('Enter');
  expect(await page.locator('#confirm-curl').textContent()).toContain(
    `-d '{"target":"unhold"}' '${conductor.url}/v1/nodes/`,
  );
  await picture('confirm');
  await page.keyboard.press('Shift+Tab');
  await page.keyboard.press('Enter');
  await see(/manual_clean: succeeded/);
  await see(/cleaning → manageable/);
});

test('of many nodes those in view are laid out, and all are reached', { timeout: 2 * timeout }, async () => {
  const names = Array.from({ length: 400 }, (_, index) => `many-${String(index).padStart(3, '0')}`);
  for (let at = 0; at < names.length; at += 20) {
    const some = names.slice(at, at + 20);
    await Promise.all(
      some.map((name) => call('POST', '/v1/nodes', { name, driver: 'fake-hardware', resource_class: 'many' })),
    );
  }
  await call('PATCH', '/v1/nodes/many-123', [{ op: 'add', path: '/extra/rack', value: hostile }]);
  await call('PUT', '/v1/nodes/many-123/traits', { traits: ['CUSTOM_ODD'] });
  await page.goto(`${conductor.url}/board#class%3Amany%20state%3Aenroll`);
  await page.reload();
  await see(/402\s*nodes/);
  await see('many-000');
  const rows = page.locator('#rows tr');
  expect(await rows.count()).toBeLessThan(150);
  expect(await page.locator('#rows').textContent()).not.toContain('rack1');
  expect(await accessibilityFaults()).toEqual([]);
  await page.locator('#filter').focus();
  await page.keyboard.press('Tab');
  await page.evaluate('scrollTo(0, document.body.scrollHeight)');
  await see('many-399');
  expect(await rows.count()).toBeLessThan(150);
  await picture('many');
  await page.evaluate('scrollTo(0, 0)');
  await see('many-000');
  await page.locator('#filter').fill('trait:custom_odd rack:"<img src=x onerror=');
  await page.locator('#no-rows', { hasText: 'No node matches' }).waitFor({ timeout });
  await page.locator('#filter').fill('trait:custom_odd');
  await page.locator('#rows', { hasNotText: 'many-000' }).waitFor({ timeout });
  expect(await rows.count()).toBe(1);
  expect(await rows.textContent()).toContain(hostile);
  await call('PUT', '/v1/nodes/many-124/traits', { traits: ['CUSTOM_ODD'] });
  await see('many-124');
  expect(await rows.count()).toBe(2);
  await page.locator('#filter').fill('rack1');
  await see('rack1-01');
});

test('anything is gone to by its name, and a link by name opens the node', { timeout }, async () => {
  await page.keyboard.press('Control+k');
  await page.keyboard.type('many-12');
  await page.locator('#go-to-list', { hasText: 'many-129' }).waitFor({ timeout });
  expect(await accessibilityFaults()).toEqual([]);
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.locator('#node-head h2', { hasText: 'many-121' }).waitFor({ timeout });
  expect(await page.evaluate('location.hash')).toBe('#node/many-121');
  await page.goto(`${conductor.url}/board#node/rack1-02/history`);
  await page.locator('.history', { hasText: /maintenance/ }).waitFor({ timeout });
  await page.goto(`${conductor.url}/board#node/nobody`);
  await see('There is no such node, or it is not yours');
  await page.keyboard.press('?');
  await see('go to a node, a rack, a view');
  expect(await accessibilityFaults()).toEqual([]);
  await page.keyboard.press('Escape');
});

test('rows are sorted and chosen by the keyboard, typing leaves no trail, and columns are kept', {
  timeout,
}, async () => {
  await page.goto(`${conductor.url}/board#rack1`);
  await see('rack1-02');
  const depth = Number(await page.evaluate('history.length'));
  await page.keyboard.press('/');
  await page.keyboard.press('End');
  await page.keyboard.type('-0');
  expect(await page.evaluate('[history.length, location.hash]')).toEqual([depth, '#rack1-0']);
  await page.keyboard.press('Escape');
  const names = () => page.locator('#rows .c-node').allTextContents();
  expect(await names()).toEqual(['rack1-01', 'rack1-02']);
  await page.locator('#sort-node').click();
  expect(await names()).toEqual(['rack1-02', 'rack1-01']);
  await page.keyboard.press('j');
  await page.keyboard.press('x');
  await page.keyboard.press('j');
  await page.keyboard.press('X');
  await page.locator('#bulk', { hasText: 'Act on 2 chosen' }).waitFor({ timeout });
  expect(await page.locator('#rows [aria-checked=true]').count()).toBe(2);
  expect(await accessibilityFaults()).toEqual([]);
  await page.keyboard.press('Escape');
  await page.locator('#bulk', { hasText: 'Act on the nodes shown' }).waitFor({ timeout });
  await page.locator('#columns summary').click();
  await page.locator('#column-owner').click();
  await page.locator('#sort-owner').waitFor({ timeout });
  await page.reload();
  await page.locator('#sort-owner').waitFor({ timeout });
  await expect.poll(names, { timeout }).toEqual(['rack1-02', 'rack1-01']);
  await page.locator('#columns summary').click();
  await page.locator('#columns-usual').click();
  await page.locator('#sort-owner').waitFor({ timeout, state: 'detached' });
  await page.locator('#sort-node').click();
  expect(await names()).toEqual(['rack1-01', 'rack1-02']);
});

test('what many nodes would lose is said before, and counted by hand', { timeout: 2 * timeout }, async () => {
  await page.locator('#filter').fill('many-00');
  const states = (state: string, count: number) =>
    expect.poll(() => page.locator('#rows tr', { hasText: state }).count(), { timeout }).toBe(count);
  await page.locator('#bulk').click();
  await see('Act on the nodes shown');
  expect(await accessibilityFaults()).toEqual([]);
  await page.getByRole('button', { name: 'Manage: 10' }).click();
  await see('and 9 more like it');
  await page.locator('#confirm-yes').click();
  await states('manageable', 10);

  // these nodes have no disks: say that they have
  const disk = { name: '/dev/sda', serial: hostile, model: null, size_bytes: 1e9, contents: ['ext4'], by: ['erase'] };
  await page.route('**/plan', async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ response: answer, json: { ...((await answer.json()) as object), destroys: [disk] } });
  });
  await page.locator('#bulk').click();
  await page.getByRole('button', { name: 'Make available: 10' }).click();
  await see('Destroys what is on 10 disks');
  expect(await page.locator('#confirm-plan').textContent()).toContain(hostile);
  expect(await accessibilityFaults()).toEqual([]);
  await picture('bulk');
  await page.locator('#confirm-yes').click();
  expect(await page.locator('#confirm').isVisible()).toBe(true);
  await page.keyboard.type('10');
  await page.locator('#confirm-yes').click();
  await states('available', 10);
  expect(await page.locator('#refusal').textContent()).toBe('');
  await page.unroute('**/plan');
});

test('a deploy is read step by step, confirmed by its hash, and refused in words', {
  timeout: 2 * timeout,
}, async () => {
  await page.getByRole('link', { name: 'many-000' }).click();
  await page.locator('#act-active').click();
  await see('boot_instance');
  expect(await page.locator('#confirm-curl').textContent()).toMatch(/"target":"active","plan_hash":"[0-9a-f]{64}"/);
  await picture('plan');
  await call('PATCH', '/v1/nodes/many-000', [
    { op: 'add', path: '/instance_info', value: { image_source: 'http://127.0.0.2/none.img' } },
  ]);
  await page.locator('#confirm-yes').click();
  await page.locator('#refusal', { hasText: /plan/i }).waitFor({ timeout });
  // what has changed, and the plan as it is now, to be confirmed again
  await see('The plan has changed since it was read');
  await see('+ instance_info.image_source: "http://127.0.0.2/none.img"');
  expect(await accessibilityFaults()).toEqual([]);
  await picture('plan-changed');
  await page.locator('#confirm-yes').click();
  await see(/deploy: succeeded/);
  expect(await page.locator('#refusal').textContent()).toBe('');
  await page.getByRole('link', { name: 'All nodes' }).click();
  await page.locator('#filter').fill('rack1');
  await see('rack1-01');
});

test('a conductor that dies is named, and its return is noticed', { timeout: 2 * timeout }, async () => {
  await conductor.kill('SIGKILL');
  await see(/No answer from the conductor since \d/);
  expect(await page.locator('body').getAttribute('class')).toBe('stale');
  await conductor.start();
  await call('PUT', '/v1/nodes/rack1-01/maintenance', { reason: 'after the return' });
  await see('after the return');
  expect(await page.locator('#message').textContent()).toBe('');
  expect(await page.locator('body').getAttribute('class')).toBe('');
});

test('a token that ends ends the page', { timeout }, async () => {
  const { tokens } = (await call('GET', '/v1/tokens')) as { tokens: { uuid: string; name: string }[] };
  const watcher = tokens.find(({ name }) => name === 'watcher');
  await call('DELETE', `/v1/tokens/${watcher?.uuid}`);
  await page.locator('#token').waitFor({ timeout });
  expect(await page.locator('#node').isVisible()).toBe(false);
  expect(browser.faults).toEqual([]);
});
