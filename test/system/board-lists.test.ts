import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { maximumMinor } from '#conductor/http/routing/versions.ts';
import { writeStore } from '#shared/chunks/write-store.ts';
import { type BoardBrowser, openBoardBrowser } from '#test/support/board-browser.ts';
import { type ConductorProcess, prepareConductor } from '#test/support/conductor.ts';
import { putOddNames } from '#test/support/odd-names.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';

/** The board's views of allocations, conductors and settings, in Debian's Chromium. */

const timeout = 240_000;
const hostile = '<img src=x onerror=document.title=1>';

let conductor: ConductorProcess;
let operator: Operator;
let browser: BoardBrowser;
let page: Page;
let images: string;

beforeAll(async () => {
  images = await mkdtemp(join(tmpdir(), 'baton-images-'));
  await writeStore(Readable.from([Buffer.alloc(1_500_000, 'one')]), images, 'used');
  await writeStore(Readable.from([Buffer.alloc(500_000, 'two')]), images, 'spare');
  conductor = await prepareConductor({
    BATON_AUTH: 'token',
    BATON_IMAGES_DIR: images,
    BATON_CONDUCTOR_NAME: hostile,
    BATON_KERNEL_PARAMS: `my_token=hunter2 ${hostile}`,
  });
  await conductor.start();
  const token = (await readFile(join(conductor.dataDirectory, 'admin-token'), 'utf8')).trim();
  operator = createOperator(conductor.url, { token });
  browser = await openBoardBrowser();
  ({ page } = browser);
  await browser.logIn(conductor.url, token);
}, timeout);
afterAll(async () => {
  await browser?.close();
  await conductor.close();
  await rm(images, { recursive: true });
});

test('an allocation waits, gets its node, and is released by the keyboard', { timeout }, async () => {
  await page.getByRole('link', { name: 'Allocations' }).focus();
  await page.keyboard.press('Enter');
  await browser.see('No allocation');
  const { uuid } = await operator.call('POST', '/v1/allocations', { name: 'web', resource_class: 'gold', wait: 3600 });
  await browser.see(/waits for .*gives up in/);
  const made = { name: 'gold-1', driver: 'fake-hardware', resource_class: 'gold', automated_clean: false };
  await operator.call('POST', '/v1/nodes', { ...made, extra: { rack: 'r1' } });
  await operator.provision('gold-1', 'manage');
  await operator.waitForState('gold-1', 'manageable');
  await operator.provision('gold-1', 'provide');
  await browser.see('✓ active');
  await page.locator('#view').getByRole('link', { name: 'gold-1' }).waitFor({ timeout });
  await browser.pictures('allocations');
  expect(await browser.faultsOf('allocations-one')).toEqual([]);
  await page.getByRole('button', { name: 'Release web' }).focus();
  await page.keyboard.press('Enter');
  expect(await page.locator('#confirm-curl').textContent()).toMatch(
    new RegExp(`^curl -X DELETE .*/v1/allocations/${String(uuid)}'$`),
  );
  await page.locator('#confirm-yes').focus();
  await page.keyboard.press('Enter');
  await browser.see('No allocation');
  expect((await operator.node('gold-1'))['allocation_uuid']).toBeNull();
});

test('conductors say whether they live', { timeout }, async () => {
  await page.getByRole('link', { name: 'Conductors' }).click();
  await browser.see('● alive');
  expect(await page.locator('#view-1').textContent()).toContain(hostile);
  await browser.pictures('conductors');
  expect(await browser.faultsOf('conductors-one')).toEqual([]);
});

test('images say who uses them; what nothing uses is removed and pruned', { timeout }, async () => {
  const instance_info = { image_source: `${conductor.url}/images/used.caibx` };
  await operator.call('POST', '/v1/nodes', { name: 'user-1', driver: 'fake-hardware', instance_info });
  await page.getByRole('link', { name: 'Images' }).click();
  await browser.see('● used');
  await page.locator('#view').getByRole('link', { name: 'node user-1' }).waitFor({ timeout });
  await browser.pictures('images');
  expect(await browser.faultsOf('images-many')).toEqual([]);
  await page.getByRole('button', { name: 'Remove spare' }).focus();
  await page.keyboard.press('Enter');
  await browser.see('Chunks that no other image has stay until a prune.');
  await page.locator('#confirm-yes').click();
  await page.locator('#view-1', { hasNotText: 'spare' }).waitFor({ timeout });
  await page.getByRole('button', { name: 'Prune…' }).click();
  await browser.see('Would go: No image');
  await page.locator('#confirm-no').click();
  expect((await operator.call('GET', '/v1/images'))['images']).toMatchObject([{ name: 'used' }]);
});

test('an address with a stray per cent sign is a filter, or a rack that is not there', { timeout }, async () => {
  await page.goto(`${conductor.url}/board#50%`);
  await page.reload();
  await expect.poll(() => page.locator('#filter').inputValue(), { timeout }).toBe('50%');
  await page.goto(`${conductor.url}/board#racks/50%`);
  await browser.see('50%');
  expect(browser.faults).toEqual([]);
});

test('settings in force say where they are from, and no secret', { timeout }, async () => {
  await page.getByRole('link', { name: 'Settings' }).click();
  await browser.see('BATON_KERNEL_PARAMS');
  const text = (await page.locator('#view-1').textContent()) ?? '';
  expect(text).toContain(`my_token=****** ${hostile}`);
  expect(text).not.toContain('hunter2');
  await browser.pictures('settings');
  expect(await browser.faultsOf('settings-many')).toEqual([]);
  expect(browser.faults).toEqual([]);
});

test('names that overflow, and names from right to left, break no list', { timeout }, async () => {
  await operator.call('POST', '/v1/allocations', { name: 'wide', resource_class: 'iron', wait: 3600 });
  for (const view of ['allocations', 'images', 'conductors', 'settings'])
    for (const kind of ['overflowing', 'right-to-left'] as const) {
      // settings have names of Baton's own
      const keys = view === 'settings' ? new Set(['value', 'conductor']) : undefined;
      const end = await putOddNames(page, new RegExp(`/v1/${view}`), kind, keys);
      await page.goto('about:blank');
      await page.goto(`${conductor.url}/board#${view}/`);
      await browser.see(kind === 'overflowing' ? /which-never-ends/ : /חוות/);
      expect(await browser.faultsOf(`${view}-${kind}`)).toEqual([]);
      await end();
    }
  expect(browser.faults).toEqual([]);
});

test('who may not see them has no way there, and is refused in words', { timeout }, async () => {
  const { token } = await operator.call('POST', '/v1/tokens', { name: 'looks', role: 'reader', project: 'us' });
  await page.locator('#logout').click();
  await page.locator('#token').fill(String(token));
  await page.keyboard.press('Enter');
  await page.locator('#logout').waitFor({ timeout });
  const shown = await page.locator('#views a').filter({ visible: true }).allTextContents();
  expect(shown).toEqual(['Fleet', 'Attention', 'Racks', 'Allocations', 'API']);
  await page.locator('#view-1', { hasText: 'baton:settings:get' }).waitFor({ timeout });
});

test('the API as a page fills in the newest version, and finds what only Baton has', { timeout }, async () => {
  await page.goto(`${conductor.url}/docs`);
  await page.locator('.operation-filter-input').fill('own');
  await page.locator('.opblock-tag', { hasText: 'node states' }).waitFor({ timeout, state: 'detached' });
  await page.locator('.opblock-tag', { hasText: 'flows and plans' }).click();
  await page.locator('.opblock', { hasText: '/flow/retry' }).locator('button').first().click();
  const version = page.getByPlaceholder('X-OpenStack-Ironic-API-Version').first();
  await version.waitFor({ timeout });
  expect(await version.inputValue()).toBe(`1.${maximumMinor}`);
});
