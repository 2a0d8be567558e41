import type { Page } from 'playwright-core';

/** Names that every view has to bear, whatever the API would take today: made from those that there are. */
export const oddNames = {
  overflowing: (name: string) => `${name}-${'which-never-ends-'.repeat(9)}`,
  'right-to-left': (name: string) => `חוות שרתים ${name} ראשונה`,
} as const;
export type OddNames = keyof typeof oddNames;

/** Keys of answers that have names. */
const named: ReadonlySet<string> = new Set([
  'name',
  'node_name',
  'hostname',
  'rack',
  'resource_class',
  'owner',
  'group',
  'requested_by',
  'depends_on',
  'waiting_for',
  'reason',
  'last_error',
  'value',
]);

/** Has the page get what the conductor answers, with odd names in place of those there are. @returns what ends that */
export async function putOddNames(
  page: Page,
  address: RegExp,
  kind: OddNames,
  keys: ReadonlySet<string> = named,
): Promise<() => Promise<void>> {
  const odd = oddNames[kind];
  await page.route(address, async (route) => {
    const answer = await route.fetch();
    const text = await answer.text();
    const put = (value: unknown): unknown =>
      typeof value === 'string' ? odd(value) : Array.isArray(value) ? value.map(put) : value;
    const json: unknown = JSON.parse(text, (key, value: unknown) => (keys.has(key) ? put(value) : value));
    await route.fulfill({ response: answer, json });
  });
  return () => page.unroute(address);
}
