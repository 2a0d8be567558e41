import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createShellOpener } from '#agent/console/serve-console.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { type BoardBrowser, openBoardBrowser } from '#test/support/board-browser.ts';
import { type ConductorProcess, prepareConductor } from '#test/support/conductor.ts';
import { enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';

/** The console in the board, in Debian's Chromium, with a real agent's shell on this host. */

const timeout = 240_000;
const environment = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/tmp', LC_ALL: 'C.UTF-8', PS1: '$ ', ENV: '' };

let conductor: ConductorProcess;
let simulated: SimulatedNode;
let operator: Operator;
let browser: BoardBrowser;
let page: Page;
let token: string;
const { promise: written, resolve: endWriting } = Promise.withResolvers<void>();

beforeAll(async () => {
  conductor = await prepareConductor({ BATON_AUTH: 'token', BATON_CONSOLE: 'loopback' });
  await conductor.start();
  token = (await readFile(join(conductor.dataDirectory, 'admin-token'), 'utf8')).trim();
  operator = createOperator(conductor.url, { token });
  simulated = await startSimulatedNode({
    conductorUrl: () => conductor.url,
    mac: '52:54:00:c0:00:09',
    openTerminal: createShellOpener('/bin/sh', environment),
  });
  simulated.faults.slowStep = { step: 'write_image', until: written };
  await enrolSimulatedNode(operator, simulated, 'shell-01');
  browser = await openBoardBrowser();
  ({ page } = browser);
  await browser.logIn(conductor.url, token);
}, timeout);
afterAll(async () => {
  endWriting();
  await browser?.close();
  await simulated?.close();
  await conductor.close();
});

const openPart = (name: string) => page.locator('#node-tabs').getByRole('link', { name }).click();

/** Finds what the terminal shows, and says to those who have it read aloud. */
const screen = () => page.locator('#terminal .xterm-rows');
const type = async (line: string): Promise<void> => {
  await page.keyboard.type(line);
  await page.keyboard.press('Enter');
};

test('where there is none it says why', { timeout }, async () => {
  await page.getByRole('link', { name: 'shell-01' }).click();
  await openPart('Console');
  await page.locator('#console-shell').click();
  await page.locator('#refusal', { hasText: 'not in the ramdisk' }).waitFor({ timeout });
  expect(await page.locator('#console').isVisible()).toBe(false);
  await page.locator('#console-serial').click();
  await browser.see('Enable the serial console: shell-01');
  expect(await page.locator('#confirm-curl').textContent()).toContain('{"enabled":true}');
  await page.locator('#confirm-no').click();
  expect(await page.locator('#message').textContent()).toBe('');
});

test('a shell by the keyboard alone: sizes, colours, what is typed, Ctrl-C, and the way out', { timeout }, async () => {
  await operator.provision('shell-01', 'active');
  await openPart('Now');
  await page
    .locator('#about', { hasText: 'write_image' })
    .locator('.working', { hasText: 'write_image' })
    .waitFor({ timeout });
  await openPart('Console');
  await page.locator('#console-shell').focus();
  await page.keyboard.press('Enter');
  await browser.see('Console of shell-01, during deploy.write_image');
  await screen().getByText(/[#$]/).first().waitFor({ timeout });
  await type('tty; stty size | tr " " x; echo "Grüße €" | tr a-z A-Z');
  await screen()
    .getByText(/GRüßE €/)
    .waitFor({ timeout });
  expect(await screen().textContent()).toMatch(/\/dev\/pts\/\d+/);
  await type(String.raw`printf '\033[31mred\033[0m \033[38;2;1;200;3mgreen\033[0m <b>bold</b>\n'`);
  // what is typed is echoed, so the words alone may be there before
  await page
    .locator('#terminal span', { hasText: /^green$/ })
    .first()
    .waitFor({ timeout });
  const colourOf = (word: string): Promise<unknown> =>
    page.evaluate(
      `getComputedStyle([...document.querySelectorAll('#terminal span')].find((each) => each.textContent === '${word}')).color`,
    );
  expect(await colourOf('green')).toBe('rgb(1, 200, 3)');
  expect(await colourOf('red')).not.toBe('rgb(230, 233, 238)');
  await browser.pictures('console');
  await type(`sh -c 'echo be""gun; exec sleep 600'`);
  await screen().getByText('begun').last().waitFor({ timeout });
  await page.keyboard.press('Control+C');
  await type('echo after=$?');
  await screen().getByText('after=130').waitFor({ timeout });
  const size = 'stty size | tr " " x | sed s/^/size=/';
  await page.setViewportSize({ width: 700, height: 700 });
  await type(size);
  await screen()
    .getByText(/size=\d+x[4-7]\d/)
    .waitFor({ timeout });
  await page.keyboard.press('Control+]');
  await page.locator('#console-close:focus').waitFor({ timeout });
  await page.keyboard.press('Enter');
  await page.locator('#console').waitFor({ state: 'hidden', timeout });
  await page.setViewportSize({ width: 1280, height: 800 });
  expect(browser.faults).toEqual([]);
});

test('hardware that a ramdisk has seen stands on the page, and its words stay words', { timeout }, async () => {
  // it was not inspected: say that it was
  const disks = [{ name: '/dev/sda', model: '<img src=x onerror=alert(1)>', serial: 'S1', size: 8e12 }];
  await page.route('**/inventory', (route) => route.fulfill({ json: { inventory: { disks }, plugin_data: null } }));
  await page.reload();
  await openPart('Inventory');
  await browser.see('8.0 TB');
  expect(await page.locator('#about').textContent()).toContain('<img src=x onerror=alert(1)>');
  await browser.pictures('hardware');
  await page.unroute('**/inventory');
});

test('who was there stands in the history; a page of another site gets none', { timeout }, async () => {
  const consoles = async (): Promise<string[]> => {
    const { history } = await operator.call('GET', '/v1/nodes/shell-01/history?detail=true');
    return (history as { event: string; event_type: string; user: string | null }[])
      .filter(({ event_type: kind }) => kind === 'console')
      .map(({ event, user }) => `${user}: ${event}`);
  };
  await waitUntil('both entries', async () => (await consoles()).length === 2 || undefined, {
    timeoutMs: timeout,
    everyMs: 100,
  });
  expect((await consoles()).join('\n')).toMatch(
    /^admin-token: console opened by admin-token at .*left by the operator$/s,
  );
  const { uuid } = await operator.node('shell-01');
  const cookies = await page.context().cookies();
  const refused = await fetch(`${conductor.url}/v1/nodes/${String(uuid)}/console/shell`, {
    headers: {
      Origin: 'https://evil.example',
      Cookie: cookies.map(({ name, value }) => `${name}=${value}`).join('; '),
    },
  });
  expect([refused.status, await refused.text()]).toEqual([403, expect.stringContaining('Origin header') as unknown]);
});

test('a login that ends takes the console with it', { timeout }, async () => {
  await openPart('Console');
  await page.locator('#console-shell').click();
  await screen().getByText(/[#$]/).first().waitFor({ timeout });
  const [cookie] = await page.context().cookies();
  await fetch(`${conductor.url}/v1/session`, {
    method: 'DELETE',
    headers: { Cookie: `${cookie?.name}=${cookie?.value}`, Origin: conductor.url, 'X-Baton-Board': '1' },
  });
  await page.locator('#token').waitFor({ timeout });
  expect(await page.locator('#console').isVisible()).toBe(false);
  expect(browser.faults).toEqual([]);
});

test('the logs of a failure are read in the page, by the keyboard alone', { timeout }, async () => {
  await browser.logIn(conductor.url, token);
  await page.getByRole('link', { name: 'shell-01' }).click();
  simulated.faults.failStep = { step: 'write_image', message: 'write /dev/sda: I/O error' };
  endWriting();
  await browser.see('deploy: failed');
  await openPart('Logs');
  await page.locator('#read-logs').focus();
  await page.keyboard.press('Enter');
  const file = page.locator('#about details', { hasText: 'mdstat' });
  await file.locator('summary').focus();
  await page.keyboard.press('Enter');
  // no program of that machine can be started: its log says so
  await file.locator('pre').getByText('cat').waitFor({ timeout });
  await browser.pictures('logs');
  expect(browser.faults).toEqual([]);
});
