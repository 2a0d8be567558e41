import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BoardBrowser, openBoardBrowser } from '#test/support/board-browser.ts';
import { type ConductorProcess, prepareConductor } from '#test/support/conductor.ts';
import { putOddNames } from '#test/support/odd-names.ts';
import { bmcCredential, type SimulatedSite, siteDocument, startSimulatedSite } from '#test/support/simulated-site.ts';
import { createSiteOperator, type SiteOperator } from '#test/support/site-operator.ts';

/** The board's view of a site in Debian's Chromium, with simulated machines. */

const timeout = 240_000;
const workers = ['w1', 'w2', 'w3'];
const group = (name: string, dependsOn: readonly string[], names: readonly string[], more: object = {}) => ({
  name,
  critical: false,
  depends_on: dependsOn,
  selectors: [{ node_names: names }],
  ...more,
});

let conductor: ConductorProcess;
let site: SimulatedSite;
let operator: SiteOperator;
let browser: BoardBrowser;
let page: Page;
const { promise: written, resolve: endWriting } = Promise.withResolvers<void>();

beforeAll(async () => {
  conductor = await prepareConductor({ BATON_AUTH: 'token' });
  await conductor.start();
  const token = (await readFile(join(conductor.dataDirectory, 'admin-token'), 'utf8')).trim();
  const members = ['c1', ...workers].map((name) => ({ name, rack: 'rack1', tags: [] }));
  site = await startSimulatedSite(members, { conductorUrl: () => conductor.url });
  const [control, bad] = [site.machines.get('c1'), site.machines.get('w3')];
  if (!control || !bad) throw new Error('the site lacks machines');
  control.faults.slowStep = { step: 'write_image', until: written };
  bad.faults.failStep = { step: 'write_image', message: '<b>I/O error</b>' };
  operator = createSiteOperator(conductor.url, token);
  await operator.setCredential(bmcCredential.name, bmcCredential.account);
  const strategy = siteDocument('shipyard/DeploymentStrategy/v1', 'deployment-strategy', {
    groups: [
      group('control', [], ['c1'], { critical: true }),
      group('storage', ['control'], ['w1'], { critical: true }),
      group('compute', ['control', 'storage'], ['w2', 'w3'], { success_criteria: { minimum_successful_nodes: 1 } }),
    ],
  });
  await operator.commit('site', `${site.documents}---\n${strategy}`);
  browser = await openBoardBrowser();
  ({ page } = browser);
  await browser.logIn(conductor.url, token);
}, timeout);
afterAll(async () => {
  await browser?.close();
  await site?.close();
  await conductor.close();
});

test('a site is deployed by the keyboard alone, after its dry run was read', { timeout }, async () => {
  await page.getByRole('link', { name: 'Site' }).focus();
  await page.keyboard.press('Enter');
  await browser.see('No site action yet');
  await browser.pictures('site-empty');
  await page.locator('#do-start').focus();
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Deploy the site' }).focus();
  await page.keyboard.press('Enter');
  await browser.see('3 groups, 4 nodes');
  expect(await page.locator('#confirm-plan svg g').count()).toBe(3);
  expect(await page.locator('#confirm-curl').textContent()).toContain(
    `-d '{"name":"deploy_site","parameters":{}}' '${conductor.url}/api/v1.0/actions'`,
  );
  await browser.pictures('site-dry-run');
  await page.locator('#confirm-yes').focus();
  await page.keyboard.press('Enter');
  await browser.see('▶ Processing');
  await browser.see('waits for control, storage');
  await page.locator('#view-2 g.deploying', { hasText: 'control' }).waitFor({ timeout });
  await browser.see('Nodes at work: 1');
  expect(await page.locator('#view-4').textContent()).toContain('c1');
  expect(await browser.faultsOf('site-running')).toEqual([]);
});

test('a node at work: its steps on one axis, and its machine beside them', { timeout }, async () => {
  await page.getByRole('link', { name: 'c1' }).first().click();
  await page.locator('.timeline tr.working', { hasText: 'deploy.write_image' }).waitFor({ timeout });
  expect(await page.locator('.timeline tr.working rect.bar').count()).toBeGreaterThan(0);
  await page.locator('aside', { hasText: 'Disks' }).waitFor({ timeout });
  // name, badge and the action that comes next stand on one line
  const tops = `['h2', '.pill', '.actions button'].map((each) => {
    const { top, bottom } = document.querySelector('#node-head .node-line ' + each).getBoundingClientRect();
    return Math.round((top + bottom) / 2);
  })`;
  const [name, badge, action] = await page.evaluate<number[]>(tops);
  expect(Math.abs(Number(name) - Number(badge)) + Math.abs(Number(name) - Number(action))).toBeLessThan(6);
  expect(await browser.faultsOf('node-deploying')).toEqual([]);
  await page.locator('#node-tabs').getByRole('link', { name: 'Inventory' }).click();
  await browser.see('/dev/sda');
  expect(await browser.faultsOf('node-inventory')).toEqual([]);
  await page.getByRole('link', { name: 'Site' }).click();
  await browser.see('Nodes at work: 1');
});

test('it is paused and continued, each with its request and who asked', { timeout }, async () => {
  await page.locator('#do-pause').click();
  expect(await page.locator('#confirm-curl').textContent()).toMatch(/actions\/\w{26}\/control\/pause'$/);
  await page.locator('#confirm-yes').click();
  await browser.see('‖ Paused');
  await browser.see(/pause by admin/);
  endWriting();
  await page.locator('#view-2 g.success', { hasText: 'control' }).waitFor({ timeout });
  await browser.see('waits for the end of the pause');
  await browser.pictures('site-paused');
  await page.locator('#do-unpause').click();
  await page.locator('#confirm-yes').click();
  await browser.see('◐ Complete, 1 failed');
  await browser.see('Nodes that failed: 1');
  await browser.see('Finish (');
  expect(await page.locator('#view-4').textContent()).toContain('<b>I/O error</b>');
  expect(await page.locator('#view-2 g.success').count()).toBe(3);
  expect(await page.locator('#view-2 g.partial').allTextContents()).toEqual([expect.stringContaining('1 failed')]);
  await browser.pictures('site');
  expect(await browser.faultsOf('site-partial')).toEqual([]);
  await page.getByRole('link', { name: 'w3' }).first().click();
  await browser.see('deploy failed');
  await page.locator('.cause', { hasText: 'I/O error' }).waitFor({ timeout });
  expect(await browser.faultsOf('node-failed')).toEqual([]);
});

test('one is canceled, and those before stay to be read', { timeout }, async () => {
  const [first] = await operator.call<{ id: string }[]>('GET', '/actions');
  await page.goto(`${conductor.url}/board#site/`);
  const never = Promise.withResolvers<void>();
  const bad = site.machines.get('w3');
  if (!bad) throw new Error('the site lacks w3');
  delete bad.faults.failStep;
  bad.faults.slowStep = { step: 'write_image', until: never.promise };
  await operator.createAction('update_site');
  await browser.see('Nodes at work: 1');
  await page.locator('#do-stop').click();
  await browser.see('stays half-written');
  await page.locator('#confirm-yes').click();
  await browser.see('■ Stopped');
  await page.locator(`#to-${first?.id}`).click();
  await browser.see('◐ Complete, 1 failed');
  never.resolve();
  for (const kind of ['overflowing', 'right-to-left'] as const) {
    const end = await putOddNames(page, /\/api\/v1\.0\/actions/, kind);
    await page.goto('about:blank');
    await page.goto(`${conductor.url}/board#site/${first?.id}`);
    await browser.see(kind === 'overflowing' ? /which-never-ends/ : /חוות/);
    expect(await browser.faultsOf(`site-${kind}`)).toEqual([]);
    await end();
  }
  expect(browser.faults).toEqual([]);
});
