import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BoardBrowser, openBoardBrowser } from '#test/support/board-browser.ts';
import { type ConductorProcess, prepareConductor } from '#test/support/conductor.ts';
import { freePort } from '#test/support/free-port.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';

/** Debian's Chromium shows what needs somebody. */

const timeout = 120_000;
const hostile = `<img src=x onerror="document.title='taken'"> \u202eknar`;

let conductor: ConductorProcess;
let browser: BoardBrowser;
let page: Page;
let operator: Operator;

const call: Operator['call'] = (...request) => operator.call(...request);
const see = (text: string | RegExp) => browser.see(text);
const provision = (name: string, body: object) => call('PUT', `/v1/nodes/${name}/states/provision`, body);
const troubles = () => page.locator('.troubles > li');

beforeAll(async () => {
  conductor = await prepareConductor({ BATON_AUTH: 'token', BATON_RETRY_TIMEOUT: '86400' });
  await conductor.start();
  const admin = (await readFile(join(conductor.dataDirectory, 'admin-token'), 'utf8')).trim();
  operator = createOperator(conductor.url, { token: admin });
  const { token } = await call('POST', '/v1/tokens', { name: 'ada', role: 'member' });
  browser = await openBoardBrowser();
  ({ page } = browser);
  await browser.logIn(conductor.url, String(token));
});
afterAll(async () => {
  await browser?.close();
  await conductor.close();
});

test('a quiet fleet says that nothing needs anybody', { timeout }, async () => {
  await page.getByRole('link', { name: 'Attention' }).click();
  await see('Nothing needs you: 0 nodes');
  expect(await browser.accessibilityFaults()).toEqual([]);
});

test('three BMCs that are away for one cause are one line, which follows the fleet', {
  timeout: 2 * timeout,
}, async () => {
  const nobody = `http://127.0.0.1:${await freePort()}`;
  for (const name of ['away-1', 'away-2', 'away-3']) {
    await call('POST', '/v1/nodes', {
      name,
      driver: 'redfish',
      driver_info: { redfish_address: nobody, redfish_username: 'u', redfish_password: 'p' },
      extra: { rack: hostile },
    });
    await provision(name, { target: 'manage' });
  }
  await troubles().filter({ hasText: '3 nodes' }).waitFor({ timeout });
  expect(await troubles().count()).toBe(1);
  expect(await troubles().first().textContent()).toContain(hostile);
  await see(/again in|trying now/);
  expect(await page.title()).toBe('(1) Attention · Baton');
  expect(await page.locator('#nav-attention').textContent()).toBe('Attention 1');
  await browser.pictures('attention');
});

test('all of them are tried at once, after a question', { timeout }, async () => {
  await page.getByRole('button', { name: 'Try now' }).focus();
  await page.keyboard.press('Enter');
  await see('Try now: 3 nodes');
  expect(await page.locator('#confirm-curl').textContent()).toContain('/flow/retry');
  await page.locator('#confirm-yes').click();
  await expect
    .poll(async () => (await call('GET', '/v1/flows'))['flows'], { timeout })
    .toMatchObject([{ status: 'retrying' }, {}, {}]);
  expect(await page.locator('#refusal').textContent()).toBe('');
});

test('who takes them leaves a note, which the others see', { timeout }, async () => {
  await page.getByRole('button', { name: 'Begin maintenance' }).click();
  await see('Note for others');
  expect(await page.locator('#confirm-note').inputValue()).toBe('ada: ');
  await page.keyboard.type('the management switch is being replaced');
  expect(await browser.accessibilityFaults()).toEqual([]);
  expect(await page.locator('#confirm-curl').textContent()).toContain('"reason":"ada: the management switch');
  await page.locator('#confirm-yes').click();
  await see(/^In maintenance: 3/);
  await see('ada: the management switch is being replaced');
  await troubles().filter({ hasText: '‖ held' }).waitFor({ timeout });
  for (const name of ['away-1', 'away-2', 'away-3']) await call('DELETE', `/v1/nodes/${name}/maintenance`);
  await expect.poll(() => page.getByText(/^In maintenance:/).count(), { timeout }).toBe(0);
});

test('a step that was asked for is left out, before it begins', { timeout: 2 * timeout }, async () => {
  await call('POST', '/v1/nodes', {
    name: 'rests',
    driver: 'fake-hardware',
    driver_info: { fake_id: 'rests' },
    extra: { rack: 'r7' },
  });
  await provision('rests', { target: 'manage' });
  const state = async () => (await call('GET', '/v1/nodes/rests'))['provision_state'];
  await expect.poll(state, { timeout }).toBe('manageable');
  const hold = { interface: 'deploy', step: 'hold', args: {} };
  const wait = { interface: 'deploy', step: 'wait', args: { seconds: 86_000 } };
  await provision('rests', { target: 'clean', clean_steps: [hold, wait], disable_ramdisk: true });
  await troubles().getByRole('link', { name: 'rests' }).click();
  await page.getByRole('button', { name: 'Skip deploy.wait' }).click();
  await see('The step is left out of this flow');
  await page.locator('#confirm-yes').click();
  await see('deploy.wait skipped');
  await page.locator('#act-unhold').click();
  await page.locator('#confirm-yes').click();
  await see(/manual_clean: succeeded/);
  await page.getByRole('link', { name: 'Attention' }).click();
  await troubles().filter({ hasText: '3 nodes' }).waitFor({ timeout });
  expect(await troubles().filter({ hasText: 'rests' }).count()).toBe(0);
  expect(browser.faults).toEqual([]);
});

test('a reader sees it all, and is offered nothing', { timeout }, async () => {
  const { token } = await call('POST', '/v1/tokens', { name: 'onlooker', role: 'reader' });
  await page.locator('#logout').click();
  await page.locator('#token').waitFor({ timeout });
  await page.locator('#token').fill(String(token));
  await page.keyboard.press('Enter');
  await troubles().filter({ hasText: '3 nodes' }).waitFor({ timeout });
  expect(await troubles().getByRole('button').count()).toBe(0);
});

test('racks are cards with a shape for each node, and one rack is acted on', { timeout }, async () => {
  await page.getByRole('link', { name: 'Racks' }).click();
  await see('↻ 3 retrying');
  expect(await page.locator('.racks > li').count()).toBe(2);
  expect(await page.locator('.racks').textContent()).toContain(hostile);
  await browser.pictures('racks');
  await page.locator('.racks').getByRole('link', { name: hostile }).click();
  await page.locator('.members', { hasText: 'away-3' }).waitFor({ timeout });
  expect(await browser.accessibilityFaults()).toEqual([]);
  expect(await page.locator('#do-act').count()).toBe(0);
  await page.getByRole('link', { name: 'All racks' }).click();
  await page.locator('.racks').getByRole('link', { name: 'r7', exact: true }).click();
  await page.getByRole('link', { name: 'as a list' }).click();
  await page.locator('#rows').getByRole('link', { name: 'rests' }).waitFor({ timeout });
  expect(await page.locator('#rows tr').count()).toBe(1);
  expect(browser.faults).toEqual([]);
});
