import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type BoardBrowser, openBoardBrowser } from '#test/support/board-browser.ts';
import { type ConductorProcess, prepareConductor } from '#test/support/conductor.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';
import { askPostgresql } from '#test/support/postgresql.ts';
import { makeTestDatabase, type TestDatabase } from '#test/support/test-database.ts';

/** The board in Debian's Chromium with a small fleet and with a big one: what works with one works with the other. */

const timeout = 300_000;
const inRack = 24;
/** One node in so many has failed, all by one server. */
const failsEach = 8;
const hostile = `<img src=x onerror="document.title='taken'"> \u202egnihton`;
const rightToLeft = 'שרת-ראשון';
const cause =
  'deploy.write_image failed: GET http://10.9.8.7/debian.raw got no answer: connect ECONNREFUSED 10.9.8.7:80';

/** Nodes as operators enroll them; names that the API would refuse today may be there from before. */
const fill = (count: number): readonly string[] => [
  `insert into nodes (uuid, name, driver, driver_info, properties, extra, instance_info, resource_class, network_interface,
     deploy_interface, automated_clean, provision_state, power_state, last_error)
   select gen_random_uuid(), 'r' || lpad((1 + n / ${inRack})::text, 3, '0') || '-n' || 1 + n % ${inRack}, 'fake-hardware',
     jsonb_build_object('fake_id', n), '{}',
     jsonb_build_object('rack', 'r' || 1 + n / ${inRack}, 'rack_unit', 1 + n % ${inRack}),
     jsonb_build_object('image_source', 'http://10.9.8.7/debian.raw'), 'gold', 'noop', 'fake', false,
     case when n % ${failsEach} = 0 then 'deploy failed' else (array['active', 'available', 'manageable'])[1 + n % 3] end,
     'power on', case when n % ${failsEach} = 0 then '${cause}' end
   from generate_series(0, ${count - 1}) n`,
  `insert into flows (uuid, node_uuid, kind, state, requested_by, started_at, ended_at, error)
   select gen_random_uuid(), uuid, 'deploy', 'failed', 'ada', now() - interval '50 minutes', now() - interval '40 minutes', '${cause}'
   from nodes where provision_state = 'deploy failed'`,
  `update nodes set name = '${hostile.replaceAll("'", "''")}' where name = 'r001-n2'`,
  `update nodes set name = '${rightToLeft}' where name = 'r001-n3'`,
];

describe.each([24, 10_000])('%i nodes', (count) => {
  let database: TestDatabase;
  let conductor: ConductorProcess;
  let browser: BoardBrowser;
  let page: Page;
  let operator: Operator;
  const failed = Math.ceil(count / failsEach);
  const rows = () => page.locator('#rows tr');
  const open = (address: string) => page.evaluate(`location.hash = ${JSON.stringify(address)}`);

  beforeAll(async () => {
    database = await makeTestDatabase();
    conductor = await prepareConductor({ BATON_AUTH: 'token', DATABASE_URL: database.url });
    await conductor.start();
    for (const statement of fill(count)) await askPostgresql(database.url, statement);
    const admin = (await readFile(join(conductor.dataDirectory, 'admin-token'), 'utf8')).trim();
    operator = createOperator(conductor.url, { token: admin, retries: 10 });
    const { token } = await operator.call('POST', '/v1/tokens', { name: 'watcher', role: 'member' });
    browser = await openBoardBrowser();
    ({ page } = browser);
    await browser.logIn(conductor.url, String(token));
  }, timeout);
  afterAll(async () => {
    await browser?.close();
    await conductor?.close();
    await database?.drop();
  });

  test('all are counted, a screen has thirty, and each is reached', { timeout }, async () => {
    await browser.see(new RegExp(`^${count}\\s*nodes$`));
    await page.setViewportSize({ width: 1280, height: 1000 });
    await rows()
      .nth(Math.min(29, count - 1))
      .waitFor({ timeout });
    const seen = `[...document.querySelectorAll('#rows tr')].filter((row) => row.getBoundingClientRect().bottom <= innerHeight).length`;
    expect(Number(await page.evaluate(seen))).toBeGreaterThanOrEqual(Math.min(30, count));
    expect(await rows().count()).toBeLessThan(120);
    expect(await browser.faultsOf(`fleet-${count}`)).toEqual([]);
    await page.evaluate('scrollTo(0, document.body.scrollHeight)');
    await browser.see(rightToLeft);
    // another view begins at its top, and so does the whole fleet
    await open('#racks/');
    await page.locator('#racks').waitFor({ timeout });
    await expect.poll(() => page.evaluate('scrollY')).toBe(0);
    await open('#attention/');
    await open('#fleet');
    await browser.see('r001-n1');
    expect(await page.evaluate('scrollY')).toBe(0);
  });

  test('what changes is seen, and no name becomes a tag', { timeout }, async () => {
    await page.evaluate("window.stays = 'the same page'");
    await page.locator('#filter').fill('onerror');
    await expect.poll(() => rows().count(), { timeout }).toBe(1);
    expect(await rows().textContent()).toContain(hostile);
    await page.locator('#filter').fill('r001-n5');
    await expect.poll(() => rows().count(), { timeout }).toBe(1);
    await operator.call('PUT', '/v1/nodes/r001-n5/maintenance', { reason: `seen ${hostile}` });
    await browser.see('⚑ maintenance');
    expect(await rows().textContent()).toContain(`seen ${hostile}`);
    expect(await page.title()).not.toContain('taken');
    expect(await page.evaluate('window.stays')).toBe('the same page');
    await page.locator('#filter').fill('');
  });

  test('by the keyboard alone a node is found, chosen, opened and left', { timeout }, async () => {
    await page.keyboard.press('Escape');
    await page.keyboard.press('/');
    await page.keyboard.type('r001-n1');
    await page.locator('#rows', { hasNotText: 'r001-n4' }).waitFor({ timeout });
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('x');
    await page.keyboard.press('j');
    await page.keyboard.press('X');
    await page.locator('#bulk', { hasText: 'Act on 2 chosen' }).waitFor({ timeout });
    await page.keyboard.press('Escape');
    await page.keyboard.press('Enter');
    await page.locator('#node-head h2', { hasText: 'r001-n10' }).waitFor({ timeout });
    await page.keyboard.press('Control+k');
    await page.keyboard.type('r001-n24');
    await page.locator('#go-to-list', { hasText: 'r001-n24' }).waitFor({ timeout });
    await page.keyboard.press('Enter');
    await page.locator('#node-head h2', { hasText: 'r001-n24' }).waitFor({ timeout });
    await page.locator('#node-tabs a').first().waitFor({ timeout });
    expect(await browser.accessibilityFaults()).toEqual([]);
  });

  test('one dead server is one line with its nodes, and its cause is a click away', { timeout }, async () => {
    await open('#attention/');
    await page.locator('.trouble', { hasText: `${failed} nodes` }).waitFor({ timeout });
    expect(await page.locator('.trouble').count()).toBe(1);
    expect(await browser.faultsOf(`attention-${count}`)).toEqual([]);
    await page.locator('.trouble [data-row]').first().click();
    await page.locator('.cause', { hasText: '10.9.8.7:80' }).waitFor({ timeout });
    expect(await browser.faultsOf(`node-of-${count}`)).toEqual([]);
  });

  test('every rack is there, with what is wrong in it, and follows what changes', { timeout }, async () => {
    await open('#racks/');
    await expect.poll(() => page.locator('#racks > li').count(), { timeout }).toBe(Math.ceil(count / inRack));
    const name = `racks-${count}`;
    expect(await browser.layoutFaultsOf(name)).toEqual([]);
    // all racks are made alike, and axe takes minutes for thousands of elements
    expect(await browser.accessibilityFaults('header, #view-title, #racks > li:nth-child(-n+30)')).toEqual([]);
    const rack = page.locator('#rack-r1');
    expect(await rack.textContent()).toContain('3 failed');
    await operator.call('PUT', '/v1/nodes/r001-n6/maintenance', { reason: 'a new fan' });
    await expect.poll(() => rack.textContent(), { timeout }).toContain('2 in maintenance');
    await open('#racks/r1');
    await page.locator('.racks.one .members').waitFor({ timeout });
    expect(await page.locator('.racks.one .member').count()).toBe(inRack);
    expect(await page.locator('.racks.one .member.failed').first().textContent()).toContain('10.9.8.7:80');
    expect(await browser.faultsOf(`rack-of-${count}`)).toEqual([]);
    await open('#fleet');
  });

  test('a conductor that dies is named, what was known stays, and its return is noticed', { timeout }, async () => {
    await rows().nth(5).waitFor({ timeout });
    await conductor.kill('SIGKILL');
    await browser.see(/No answer from the conductor since \d\d:\d\d:\d\d; trying again/);
    await page.locator('body.stale').waitFor({ timeout });
    expect(await rows().count()).toBeGreaterThan(20);
    expect(await browser.faultsOf(`fleet-offline-${count}`)).toEqual([]);
    await conductor.start();
    await operator.call('PUT', '/v1/nodes/r001-n7/maintenance', { reason: 'after the return' });
    await page.locator('#filter').fill('r001-n7');
    await browser.see(/after the return/);
    await page.locator('body:not(.stale)').waitFor({ timeout });
    expect(await page.locator('#message').textContent()).toBe('');
  });

  test('a token that ends ends the page', { timeout }, async () => {
    const { tokens } = (await operator.call('GET', '/v1/tokens')) as { tokens: { uuid: string; name: string }[] };
    await operator.call('DELETE', `/v1/tokens/${tokens.find(({ name }) => name === 'watcher')?.uuid}`);
    await page.locator('#token').waitFor({ timeout });
    expect(await page.locator('#board').isVisible()).toBe(false);
    expect(browser.faults).toEqual([]);
  });
});
