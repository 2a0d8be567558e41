import { gzipSync } from 'node:zlib';
import { Client } from 'pg';
import { type Browser, chromium, type Page } from 'playwright-core';
import { createNodes } from '#test/bench/api/nodes.ts';
import { type MeasuredServer, startServer } from '#test/bench/api/server.ts';
import { type Area, type BenchContext, type Figure, percentile, round } from '#test/bench/area.ts';
import { loadAverage } from '#test/bench/process-figures.ts';

const fleet = 10_000;
const openFlows = 1000;
const changes = 40;
const inRack = 25;
const timeout = 120_000;

/** The board in Debian's Chromium, with ten thousand nodes on a conductor beside it. */
export const boardArea: Area = {
  name: 'board',
  measure: async (context) => {
    const server = await startServer('pg', context.say);
    const database = new Client({ connectionString: server.databaseUrl ?? '' });
    let browser: Browser | undefined;
    try {
      await database.connect();
      await createNodes(server, { from: 0, to: fleet });
      await database.query(
        "update nodes set extra = extra || jsonb_build_object('rack', 'r' || substr(name, 6)::int / $1::int)",
        [inRack],
      );
      browser = await chromium.launch({
        executablePath: '/usr/bin/chromium',
        args: ['--no-sandbox', '--enable-precise-memory-info'],
      });
      const page = await browser.newPage();
      return {
        ...(await measurePage(context, { server, page, database })),
        [`flows_${openFlows}_ms`]: await measureFlows(server, database),
        bundle_gzip_kb: { value: await bundleSize(server), unit: 'kB' },
      };
    } finally {
      await browser?.close();
      await database.end();
      await server.close();
    }
  },
};

interface World {
  readonly server: MeasuredServer;
  readonly page: Page;
  readonly database: Client;
}

async function measurePage({ say }: BenchContext, { server, page, database }: World): Promise<Record<string, Figure>> {
  await page.addInitScript(noteTimes);
  await page.goto(`${server.conductor.url}/board`);
  await page
    .getByText(new RegExp(`${fleet}\\s*nodes`))
    .first()
    .waitFor({ timeout });
  const [firstView, whole] = [await noted(page, 'rows'), await noted(page, 'all')];
  say(`first rows after ${round(firstView, 0)} ms, all after ${round(whole, 0)} ms; load ${await loadAverage()}`);

  await page.evaluate(measureFrames);
  const toPixel: number[] = [];
  for (let index = 0; index < changes; index += 1) {
    const mark = `change-${index}-of-the-bench`;
    const began = Date.now();
    // one that is in view
    await database.query("update nodes set maintenance = true, maintenance_reason = $1 where name = 'node-0'", [mark]);
    await page.getByText(mark).first().waitFor({ timeout, state: 'attached' });
    toPixel.push((await noted(page, mark)) - began);
  }
  const whileChanging = await longestFrame(page);
  for (let turn = 0; turn < 100; turn += 1) await page.mouse.wheel(0, 2000);
  const whileScrolling = await longestFrame(page);
  await page.evaluate("location.hash = '#racks/'");
  await page.locator('#racks > li').nth(1).waitFor({ timeout });
  for (let index = 0; index < changes; index += 1) {
    await database.query("update nodes set maintenance = $1 where name = 'node-0'", [index % 2 === 0]);
    const mark = page.locator(
      '#racks',
      index % 2 === 0 ? { hasText: 'in maintenance' } : { hasNotText: 'in maintenance' },
    );
    await mark.waitFor({ timeout, state: 'attached' });
  }
  const ofRacks = await longestFrame(page);
  say(`longest frames: ${JSON.stringify({ whileChanging, whileScrolling, ofRacks })}; load ${await loadAverage()}`);
  const heap = Number(await page.evaluate('performance.memory.usedJSHeapSize'));
  return {
    [`first_view_ms_${fleet}`]: { value: round(firstView, 0), unit: 'ms' },
    [`all_nodes_ms_${fleet}`]: { value: round(whole, 0), unit: 'ms' },
    event_to_pixel_ms_p95: { value: round(percentile(toPixel, 0.95), 0), unit: 'ms' },
    longest_frame_ms: { value: round(Math.max(whileChanging, whileScrolling, ofRacks)), unit: 'ms' },
    browser_mb: { value: round(heap / 1e6), unit: 'MB of its heap' },
  };
}

const measureFrames = `{
  window.longestFrame = 0;
  let last = performance.now();
  const frame = (now) => {
    window.longestFrame = Math.max(window.longestFrame, now - last);
    last = now;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}`;

/** Milliseconds of the longest frame since it was asked for before. */
async function longestFrame(page: Page): Promise<number> {
  return round(Number(await page.evaluate('[longestFrame, (longestFrame = 0)][0]')));
}

/** The page notes itself when what is looked for comes: a locator looks only now and then. */
const noteTimes = `{
  window.noted = {};
  const note = (what, at) => requestAnimationFrame(() => (window.noted[what] ??= at()));
  new MutationObserver(() => {
    const rows = document.getElementById('rows');
    if (!rows) return;
    if (rows.children.length > 20) note('rows', () => performance.now());
    if (/${fleet}\\s*nodes/.test(document.getElementById('counts').textContent)) note('all', () => performance.now());
    const [text] = /change-\\d+-of-the-bench/.exec(rows.textContent) ?? [];
    if (text) note(text, () => Date.now());
  }).observe(document, { childList: true, subtree: true, characterData: true });
}`;

/** Milliseconds since the page was asked for; of a change by the clock. */
async function noted(page: Page, what: string): Promise<number> {
  const at = Number(await page.evaluate(`window.noted[${JSON.stringify(what)}]`));
  if (Number.isNaN(at)) throw new Error(`the page has not shown ${what}`);
  return at;
}

/** `GET /v1/flows` of a thousand that are open. */
async function measureFlows({ conductor }: MeasuredServer, database: Client): Promise<Figure> {
  await database.query(
    `insert into flows (uuid, node_uuid, kind, state, next_check_at)
      select gen_random_uuid(), uuid, 'clean', 'running', now() + interval '1 day' from nodes order by name limit $1`,
    [openFlows],
  );
  const took: number[] = [];
  for (let turn = 0; turn < 20; turn += 1) {
    const since = performance.now();
    const answer = await fetch(`${conductor.url}/v1/flows?limit=${openFlows}`);
    const { flows } = (await answer.json()) as { flows: unknown[] };
    took.push(performance.now() - since);
    if (flows.length !== openFlows) throw new Error(`/v1/flows answered ${flows.length} flows`);
  }
  return { value: round(percentile(took, 0.5)), unit: 'ms' };
}

/** Script, page and style, compressed. */
async function bundleSize({ conductor }: MeasuredServer): Promise<number> {
  const html = await (await fetch(`${conductor.url}/board`)).text();
  const parts = [...html.matchAll(/(?:src|href)="([^"#:]+\.(?:js|css))"/g)].map(([, path = '']) => path);
  if (parts.length < 2) throw new Error('the board names no script and style');
  const files = await Promise.all(
    parts.map(async (path) => (await fetch(new URL(path, `${conductor.url}/board`))).text()),
  );
  return round(gzipSync([html, ...files].join('')).length / 1000);
}
