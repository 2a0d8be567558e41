import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import axe from 'axe-core';
import { chromium, type Page } from 'playwright-core';
import { expect } from 'vitest';
import { layoutFaults } from '#test/support/layout-faults.ts';

/** Kept as artefacts. */
const screenshots = 'build/board';
const seenMs = 120_000;
const sizes = { wide: { width: 1280, height: 800 }, narrow: { width: 360, height: 740 } } as const;
/** Widths at which every state of every view is looked at. */
const allSizes = [
  { width: 1600, height: 1000 },
  { width: 1280, height: 1000 },
  { width: 390, height: 844 },
] as const;

/** The board in Debian's Chromium. */
export interface BoardBrowser {
  readonly page: Page;
  /** Errors of scripts, and what the policy of contents has refused. */
  readonly faults: readonly string[];
  /** Waits until it can be seen. */
  see(text: string | RegExp): Promise<void>;
  /** Rules of WCAG 2.1 A and AA that the page breaks, each with where. @param within CSS selector of what is looked at; default: all */
  accessibilityFaults(within?: string): Promise<string[]>;
  picture(name: string): Promise<void>;
  /** Light, dark and narrow, each without a fault. */
  pictures(name: string): Promise<void>;
  /** Takes pictures at three widths, dark and light. @returns what is wrong with layout or accessibility, with where */
  faultsOf(name: string): Promise<string[]>;
  /** The same without accessibility, which takes minutes of thousands of elements. */
  layoutFaultsOf(name: string): Promise<string[]>;
  logIn(url: string, token: string): Promise<void>;
  close(): Promise<void>;
}

export async function openBoardBrowser(): Promise<BoardBrowser> {
  await mkdir(screenshots, { recursive: true });
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
  const page = await browser.newPage({ viewport: sizes.wide });
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('console', (message) => {
    if (/Content Security Policy/.test(message.text())) faults.push(message.text());
  });
  const see = (text: string | RegExp): Promise<void> =>
    page.getByText(text).filter({ visible: true }).first().waitFor({ timeout: seenMs });
  const picture = async (name: string): Promise<void> => {
    await page.screenshot({ path: join(screenshots, `${name}.png`), fullPage: true });
  };
  const accessibilityFaults = async (within = 'html'): Promise<string[]> => {
    await page.evaluate(axe.source);
    const found = await page.evaluate(
      `axe.run(${JSON.stringify(within)}, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'] }).then(({ violations }) =>
        violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' ')))`,
    );
    return found as string[];
  };
  const layoutFaultsOf = async (name: string): Promise<string[]> => {
    const found: string[] = [];
    for (const size of allSizes) {
      await page.setViewportSize(size);
      for (const colorScheme of ['dark', 'light'] as const) {
        await page.emulateMedia({ colorScheme });
        await page.screenshot({ path: join(screenshots, `${name}-${size.width}-${colorScheme}.png`) });
      }
      const wrong = await page.evaluate<string[]>(layoutFaults);
      found.push(...wrong.map((fault) => `${name}, ${size.width} pixels: ${fault}`));
    }
    await page.setViewportSize(sizes.wide);
    return found;
  };
  return {
    page,
    faults,
    see,
    accessibilityFaults,
    picture,
    pictures: async (name) => {
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        expect({ colorScheme, faults: await accessibilityFaults() }).toEqual({ colorScheme, faults: [] });
        await picture(`${name}-${colorScheme}`);
      }
      await page.setViewportSize(sizes.narrow);
      expect(await accessibilityFaults()).toEqual([]);
      await picture(`${name}-narrow`);
      const wider = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
      expect({ wider }).toEqual({ wider: 0 });
      await page.setViewportSize(sizes.wide);
      await page.emulateMedia({ colorScheme: 'light' });
    },
    faultsOf: async (name) => {
      const faults = await layoutFaultsOf(name);
      return [...faults, ...(await accessibilityFaults()).map((fault) => `${name}: ${fault}`)];
    },
    layoutFaultsOf,
    logIn: async (url, token) => {
      await page.goto(`${url}/board`);
      await page.locator('#token').fill(token);
      await page.keyboard.press('Enter');
      await page.locator('#logout').waitFor({ timeout: seenMs });
    },
    close: () => browser.close(),
  };
}
