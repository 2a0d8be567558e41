import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BoardBrowser, openBoardBrowser } from '#test/support/board-browser.ts';
import { type ConductorProcess, prepareConductor } from '#test/support/conductor.ts';
import { freePort } from '#test/support/free-port.ts';
import { oddNames, putOddNames } from '#test/support/odd-names.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';

/**
 * Pictures of the board's views in every state that they may be in, dark and light, at three widths, kept below
 * `build/board`. Each is also looked at by a script: no word is broken inside, nothing lies over anything else, no page
 * scrolls sideways; and by axe.
 */

const timeout = 600_000;
const long = `an-overflowing-name-${'of-a-node-'.repeat(12)}`;
const rightToLeft = 'חוות-שרתים';

let conductor: ConductorProcess;
let browser: BoardBrowser;
let page: Page;
let operator: Operator;

const call: Operator['call'] = (...request) => operator.call(...request);
const provision = (name: string, body: object) => call('PUT', `/v1/nodes/${name}/states/provision`, body);
const views = ['attention', 'racks', 'site', 'allocations', 'images', 'conductors', 'settings'] as const;
const open = async (address: string): Promise<void> => {
  await page.goto('about:blank');
  await page.goto(`${conductor.url}/board${address}`);
};
const lists = /\/(v1|api)\/.*(nodes|flows|actions|conductors|images|settings|allocations)/;
/** Answer of a conductor that has no database just now. */
const refusal = {
  status: 503,
  contentType: 'application/json',
  body: JSON.stringify({ error_message: JSON.stringify({ faultstring: 'the database is away; please retry' }) }),
};
const settled = () => page.locator('.loading').filter({ visible: true }).waitFor({ state: 'detached', timeout });
const create = (name: string, more: object = {}) =>
  call('POST', '/v1/nodes', { name, driver: 'fake-hardware', driver_info: { fake_id: name }, ...more });

beforeAll(async () => {
  conductor = await prepareConductor({ BATON_AUTH: 'none', BATON_RETRY_TIMEOUT: '86400' });
  await conductor.start();
  operator = createOperator(conductor.url);
  browser = await openBoardBrowser();
  ({ page } = browser);
}, timeout);
afterAll(async () => {
  await browser?.close();
  await conductor.close();
});

test('empty: every view says so, and the next command', { timeout }, async () => {
  await open('#fleet');
  await browser.see('No node is enrolled');
  await browser.see('baton node create -f nodes.yaml');
  expect(await browser.faultsOf('fleet-empty')).toEqual([]);
  for (const view of views) {
    await open(`#${view}/`);
    await settled();
    expect(await browser.faultsOf(`${view}-empty`)).toEqual([]);
  }
});

test('loading is not empty: nothing is said of a fleet that is not known yet', { timeout }, async () => {
  // asked, and never answered
  await page.route(lists, () => undefined);
  await open('#fleet');
  await browser.see('Reading the fleet…');
  expect(await page.locator('#board').textContent()).not.toMatch(/no node|0 nodes/i);
  expect(await browser.faultsOf('fleet-loading')).toEqual([]);
  for (const view of views) {
    await open(`#${view}/`);
    await page.locator('#view .loading').filter({ visible: true }).first().waitFor({ timeout });
    expect(await browser.faultsOf(`${view}-loading`)).toEqual([]);
  }
  await open('#node/n1');
  await browser.see('Reading the fleet…');
  expect(await browser.faultsOf('node-loading')).toEqual([]);
  await page.unroute(lists);
});

test('an error is said in the conductor’s words, and is not emptiness', { timeout }, async () => {
  const refused = /\/(v1\/(allocations|images|conductors|settings)|actions)/;
  await page.route(refused, (route) => route.fulfill(refusal));
  for (const view of ['attention', 'site', 'allocations', 'images', 'conductors', 'settings']) {
    await open(`#${view}/`);
    await page.locator('#view', { hasText: 'the database is away' }).waitFor({ timeout });
    expect(await page.locator('#view').textContent()).not.toMatch(/Nothing needs you|No (node|image|allocation|site)/);
    expect(await browser.faultsOf(`${view}-error`)).toEqual([]);
  }
  await page.unroute(refused);
  await page.route(/\/v1\/(nodes|flows)/, (route) => route.fulfill(refusal));
  for (const [name, address] of Object.entries({ fleet: '#fleet', racks: '#racks/' })) {
    await open(address);
    await page.locator('#message', { hasText: 'the database is away' }).waitFor({ timeout });
    expect(await page.locator('main').textContent()).not.toMatch(/no node|0 nodes/i);
    expect(await browser.faultsOf(`${name}-error`)).toEqual([]);
  }
  await page.unroute(/\/v1\/(nodes|flows)/);
});

test('one node', { timeout }, async () => {
  await create('n1', { resource_class: 'gold', extra: { rack: 'r1', rack_unit: 7 } });
  await open('#fleet');
  await browser.see('1 node');
  expect(await browser.faultsOf('fleet-one')).toEqual([]);
  await open('#racks/');
  await browser.see('r1');
  expect(await browser.faultsOf('racks-one')).toEqual([]);
  for (const part of ['', '/history', '/inventory', '/logs', '/console', '/plan']) {
    await open(`#node/n1${part}`);
    await page.locator('#node-tabs a').first().waitFor({ timeout });
    await settled();
    expect(await browser.faultsOf(`node-one${part.replace('/', '-')}`)).toEqual([]);
  }
});

test('a node that can’t be read says why, and is read as soon as it can be', { timeout }, async () => {
  await page.route(/\/v1\/nodes\/[^/]+\/(flow|history)/, (route) => route.fulfill(refusal));
  await open('#node/n1');
  await page.locator('#about', { hasText: 'the database is away' }).waitFor({ timeout });
  expect(await browser.faultsOf('node-error')).toEqual([]);
  await page.unroute(/\/v1\/nodes\/[^/]+\/(flow|history)/);
  await page.locator('#about', { hasText: 'Identity' }).waitFor({ timeout });
  await open('#node/nobody');
  await browser.see('There is no such node');
  expect(await browser.faultsOf('node-missing')).toEqual([]);
});

test('many nodes, some in trouble; names that overflow, and names from right to left', { timeout }, async () => {
  const nobody = `http://127.0.0.1:${await freePort()}`;
  for (let index = 1; index <= 36; index += 1)
    await create(`r${index > 18 ? 2 : 1}-n${index}`, {
      resource_class: 'gold',
      owner: 'team-a',
      extra: { rack: `rack${index > 18 ? 2 : 1}`, rack_unit: 1 + 2 * (index % 18) },
      instance_info: { image_source: 'http://127.0.0.1/debian-12.raw' },
    });
  for (const name of ['away-1', 'away-2', 'away-3']) {
    await call('POST', '/v1/nodes', {
      name,
      driver: 'redfish',
      driver_info: { redfish_address: nobody, redfish_username: 'u', redfish_password: 'p' },
      extra: { rack: rightToLeft },
    });
    await provision(name, { target: 'manage' });
  }
  await create('odd', { owner: long, resource_class: long.slice(0, 80), extra: { rack: `rack ${long}` } });
  await call('PUT', '/v1/nodes/odd/maintenance', { reason: `${rightToLeft} ${long}` });
  const hold = { interface: 'deploy', step: 'hold', args: {} };
  for (const name of ['r1-n1', 'r1-n2']) {
    await provision(name, { target: 'manage' });
    await expect.poll(async () => (await operator.node(name))['provision_state'], { timeout }).toBe('manageable');
    await provision(name, { target: 'clean', clean_steps: [hold], disable_ramdisk: true });
    await expect.poll(async () => (await operator.node(name))['provision_state'], { timeout }).toBe('clean hold');
  }
  await provision('r1-n2', { target: 'abort' });
  await expect.poll(async () => (await operator.node('r1-n2'))['provision_state'], { timeout }).toBe('clean failed');
  await open('#fleet');
  await browser.see('‖ held');
  await browser.see('⊘ aborted');
  await page.setViewportSize({ width: 1280, height: 1000 });
  const rows = `[...document.querySelectorAll('#rows tr')].filter((row) => row.getBoundingClientRect().bottom <= innerHeight).length`;
  expect(Number(await page.evaluate(rows))).toBeGreaterThanOrEqual(30);
  expect(await browser.faultsOf('fleet-many')).toEqual([]);
  await open('#attention/');
  await page.locator('.trouble', { hasText: '3 nodes' }).waitFor({ timeout });
  await browser.see('Aborted by an operator: 1');
  expect(await browser.faultsOf('attention-many')).toEqual([]);
  // from the page to the cause: one click
  await page.locator('.trouble', { hasText: '3 nodes' }).getByRole('link', { name: 'away-1' }).click();
  await page.locator('.cause').waitFor({ timeout });
  expect(await browser.faultsOf('node-retrying')).toEqual([]);
  for (const name of ['r1-n1', 'r1-n2', 'odd']) {
    await open(`#node/${name}`);
    await page.locator('#node-tabs a').first().waitFor({ timeout });
    await settled();
    expect(await browser.faultsOf(`node-${name}`)).toEqual([]);
  }
  await open('#racks/');
  await page.locator('.racks > li').nth(3).waitFor({ timeout });
  expect(await browser.faultsOf('racks-many')).toEqual([]);
  await open('#racks/rack1');
  await page.locator('.members').waitFor({ timeout });
  expect(await browser.faultsOf('rack')).toEqual([]);
});

test('names that overflow, and names from right to left, in every view of nodes', { timeout }, async () => {
  for (const kind of ['overflowing', 'right-to-left'] as const) {
    const end = await putOddNames(page, /\/v1\/(nodes|flows|allocations|conductors)/, kind);
    for (const [name, address] of Object.entries({ fleet: '#fleet', attention: '#attention/', racks: '#racks/' })) {
      await open(address);
      await browser.see(kind === 'overflowing' ? /which-never-ends/ : /חוות/);
      await settled();
      expect(await browser.faultsOf(`${name}-${kind}`)).toEqual([]);
    }
    await open(`#node/${encodeURIComponent(oddNames[kind]('r1-n1'))}`);
    await page.locator('#node-tabs a').first().waitFor({ timeout });
    await page.locator('.cause').waitFor({ timeout });
    expect(await browser.faultsOf(`node-${kind}`)).toEqual([]);
    await end();
  }
});

test('dialogs: an action, going somewhere, the keys', { timeout }, async () => {
  await open('#node/r1-n1');
  await page.locator('#act-unhold').click();
  await page.locator('#confirm-yes').waitFor({ timeout });
  expect(await browser.faultsOf('dialog-action')).toEqual([]);
  await page.locator('#confirm-no').click();
  await page.keyboard.press('Control+k');
  await page.keyboard.type('r1');
  await page.locator('#go-to-list li').nth(3).waitFor({ timeout });
  expect(await browser.faultsOf('dialog-go-to')).toEqual([]);
  await page.keyboard.press('Escape');
  await page.keyboard.press('?');
  await browser.see('go to a node, a rack, a view');
  expect(await browser.faultsOf('dialog-keys')).toEqual([]);
  await page.keyboard.press('Escape');
});

test('offline is neither loading nor empty: what was known stays, greyed, with its time', { timeout }, async () => {
  await open('#fleet');
  await browser.see('‖ held');
  await conductor.kill('SIGKILL');
  await browser.see(/No answer from the conductor since \d\d:\d\d:\d\d; trying again/);
  await page.locator('body.stale').waitFor({ timeout });
  expect(await page.locator('#rows').textContent()).toContain('r1-n1');
  expect(await browser.faultsOf('fleet-offline')).toEqual([]);
  await page.evaluate("location.hash = '#racks/'");
  await page.locator('.racks .member').first().waitFor({ timeout });
  expect(await browser.faultsOf('racks-offline')).toEqual([]);
  // what was not read before says so, in place of emptiness
  for (const view of views.filter((each) => each !== 'racks')) {
    await page.evaluate(`location.hash = '#${view}/'`);
    await page.locator('#view', { hasText: /the conductor does not answer/ }).waitFor({ timeout });
    expect(await page.locator('#view').textContent()).not.toMatch(/Nothing needs you|No (node|image|allocation|site)/);
    expect(await browser.faultsOf(`${view}-offline`)).toEqual([]);
  }
  await conductor.start({ BATON_AUTH: 'token' });
});

test('the login says where the token is', { timeout }, async () => {
  await open('');
  await page.locator('#token').waitFor({ timeout });
  await browser.see('/var/lib/baton/admin-token');
  expect(await browser.faultsOf('login')).toEqual([]);
  expect(browser.faults).toEqual([]);
});
