import { build } from 'esbuild';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { forBrowsers } from '#conductor/bundle/build-bundles.ts';
import { bundleOptions } from '#shared/bundle-options.ts';
import { type BoardBrowser, openBoardBrowser } from '#test/support/board-browser.ts';
import { type FailingDeploys, openFailingDeploys } from '#test/support/failing-deploys.ts';
import { answeringFaults, type NightFault, refusedFault, silentFault } from '#test/support/night-faults.ts';

/**
 * The night on the board alone, in Debian's Chromium: each fault is found in Attention, understood by its advice, there
 * and on the node's page, one click away, and ended by the board's buttons.
 */

const timeout = 120_000;
let browser: BoardBrowser;
let page: Page;
let deploys: FailingDeploys;

function withSettings(settings: Readonly<Record<string, string>>): void {
  beforeAll(async () => {
    deploys = await openFailingDeploys(settings);
    browser = await openBoardBrowser();
    ({ page } = browser);
    await serveScript();
  });
  afterAll(async () => {
    await browser?.close();
    await deploys.node.close();
  });
}

/** A conductor in this process runs its sources, and has no bundle for browsers. */
async function serveScript(): Promise<void> {
  const { outputFiles } = await build({ ...bundleOptions, ...forBrowsers, entryPoints: ['conductor/board/board.ts'] });
  const [script] = outputFiles;
  if (!script) throw new Error('the board has no script');
  await page.route('**/board/board.js', (route) =>
    route.fulfill({ body: script.text, contentType: 'text/javascript' }),
  );
}

const inText = (place: Locator, text: RegExp | string): Promise<void> =>
  place.filter({ hasText: text }).first().waitFor({ timeout });

/** Finds the fault on the first view, and opens its node. */
async function find({ says }: NightFault): Promise<void> {
  const { name } = deploys.node;
  await page.goto(`${deploys.node.conductor.url}/board#attention/`);
  const line = page.locator('.troubles > li').filter({ hasText: name });
  await inText(line.locator('.advice'), says);
  await line.getByRole('link', { name, exact: true }).click();
  await inText(page.locator('.cause .advice'), says);
}

/** Presses a button of the node's page, wherever it is, and says yes. @param typed into the first field of its dialog */
async function press(action: string, typed?: string): Promise<void> {
  const button = page.locator(`#act-${action}`);
  await button.waitFor({ state: 'attached', timeout });
  if (!(await button.isVisible())) await page.locator('#more > summary').click();
  await button.click();
  if (typed !== undefined) await page.locator('#confirm-field-0').fill(typed);
  await page.locator('#confirm-yes').click({ timeout });
}

const corrections: Readonly<Record<string, readonly [typed: string, place: string, field: string]>> = {
  'Correct the image': ['http://images.example/new.raw', 'instance_info', 'image_source'],
  'Correct the root disk': ['/dev/sda', 'properties', 'root_device'],
};

/** Corrects what the failure is about, where the board offers that. */
async function correct({ named, corrected = '' }: NightFault): Promise<void> {
  const [typed, place, field] = corrections[corrected] ?? [];
  if (named !== 'failed' || typed === undefined || place === undefined || field === undefined) return;
  await press('correct', typed);
  const { node } = deploys;
  await expect
    .poll(
      async () => JSON.stringify(((await node.operator.node(node.name))[place] as Record<string, unknown>)[field]),
      { timeout },
    )
    .toContain(typed);
}

async function goThrough(fault: NightFault): Promise<void> {
  const { node } = deploys;
  await node.rest('available');
  node.heal();
  fault.make(node);
  await deploys.start();
  await fault.amid?.(node);
  await find(fault);
  if (fault.named !== 'failed') await press('abort');
  node.heal();
  await node.operator.waitForState(node.name, 'deploy failed');
  await correct(fault);
  await press('rebuild');
  const head = () => page.locator('#node-head').textContent();
  await expect.poll(head, { timeout }).toMatch(/call-back|deploying|active/);
  expect(await deploys.isActive()).toBe(true);
  await page.locator('#node-head', { hasText: 'active' }).waitFor({ timeout });
  expect(browser.faults).toEqual([]);
}

describe('what answers', () => {
  withSettings({});
  test.each(answeringFaults)('$happens', { timeout: 3 * timeout }, goThrough);

  test('a login that is wrong from the beginning is corrected, and never shown', { timeout: 3 * timeout }, async () => {
    const { operator, machine, conductor } = deploys.node;
    const { redfish_password: right } = machine.driverInfo;
    const name = 'fresh';
    const driverInfo = { ...machine.driverInfo, redfish_password: 'wrong' };
    await operator.call('POST', '/v1/nodes', { name, driver: 'redfish', driver_info: driverInfo });
    await operator.provision(name, 'manage');
    await page.goto(`${conductor.url}/board#attention/`);
    const line = page.locator('.troubles > li').filter({ hasText: name });
    await inText(line.locator('.advice'), /it refuses the login/);
    // the word of the password is a word of the message
    await inText(line.locator('.words'), /redfish_password is wrong/);
    await line.getByRole('link', { name, exact: true }).click();
    await page.locator('#act-correct').click({ timeout });
    await page.locator('#confirm-field-2').fill(String(right));
    expect(await page.locator('#confirm-curl').textContent()).toContain('"value":"******"');
    expect(await browser.accessibilityFaults()).toEqual([]);
    await browser.picture('correct');
    await page.locator('#confirm-yes').click();
    await press('manage');
    await expect.poll(async () => (await operator.node(name))['provision_state'], { timeout }).toBe('manageable');
  });
});

describe('what is silent', () => {
  withSettings({ BATON_CALLBACK_TIMEOUT: '10' });
  test.each([silentFault])('$happens', { timeout: 3 * timeout }, goThrough);
});

describe('what the conductor refuses itself', () => {
  withSettings({ BATON_REQUIRE_AGENT_TLS: 'true' });
  test('heartbeats without TLS', { timeout: 3 * timeout }, async () => {
    await deploys.start();
    await find(refusedFault);
    await press('abort');
    await deploys.node.operator.waitForState(deploys.node.name, 'deploy failed');
    expect(browser.faults).toEqual([]);
  });
});
