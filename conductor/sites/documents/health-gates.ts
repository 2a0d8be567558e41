import { z } from 'zod';
import { expectedMessage } from '#conductor/model/expected.ts';
import type { GateQuestion, HealthGate } from '#conductor/model/site/health-gate.ts';
import type { SiteFault } from '#conductor/model/site/site-report.ts';
import { fieldFault, shownText, strictObject } from '#conductor/sites/documents/schema-faults.ts';
import type { SiteDocument } from '#conductor/sites/site.ts';
import { isHost } from '#shared/peers/is-host.ts';
import { splitHostPort } from '#shared/peers/open-connection.ts';

/** The field `health` of a strategy's group (docs/sites.md "Rollouts"). */

const urlRule = 'an http:// or https:// URL without a login';
const tcpRule = 'a host and a port, such as api.example:6443';
const secondsRule = 'a whole number of seconds, from 0 to 86400';
const seconds = z
  .int(expectedMessage(secondsRule))
  .min(0, `must be ${secondsRule}`)
  .max(86_400, `must be ${secondsRule}`);

const threshold = z.number(expectedMessage('a number'));

/** Most gates of one group: each is asked every few seconds. */
const mostGates = 16;
const gatesRule = `a list of 1 to ${mostGates} gates`;

const gate = strictObject({
  name: shownText.max(80, 'must have at most 80 characters').exactOptional(),
  http: z.string(expectedMessage(urlRule)).refine(isPlainUrl, `must be ${urlRule}`).exactOptional(),
  tcp: z.string(expectedMessage(tcpRule)).refine(isHostPort, `must be ${tcpRule}`).exactOptional(),
  prometheus: z.string(expectedMessage(urlRule)).refine(isPlainUrl, `must be ${urlRule}`).exactOptional(),
  query: shownText.max(2000, 'must have at most 2000 characters').exactOptional(),
  at_least: threshold.exactOptional(),
  at_most: threshold.exactOptional(),
  hold_seconds: seconds.default(0),
  patience_seconds: seconds.default(60),
})
  .refine((given) => questionsOf(given).length === 1, 'must have one of http, tcp, prometheus')
  .superRefine((given, context) => {
    for (const [field, message] of queryFaults(given)) context.addIssue({ code: 'custom', path: [field], message });
  })
  .transform((given): HealthGate => ({ ...given, name: given.name ?? questionsOf(given)[0] ?? '' }));

export const healthGates = z
  .array(gate, expectedMessage(gatesRule))
  .min(1, `must be ${gatesRule}`)
  .max(mostGates, `must be ${gatesRule}`);

/** Lists fields of a query that are missing, contradict each other, or stand beside another question. */
function queryFaults({ prometheus, query, at_least: least, at_most: most }: GateQuestion): [string, string][] {
  if (prometheus === undefined) {
    const stray = Object.entries({ query, at_least: least, at_most: most }).filter(([, value]) => value !== undefined);
    return stray.map(([field]) => [field, 'must stand beside prometheus, and no other question']);
  }
  const missing: [string, string][] = query === undefined ? [['query', 'is missing: it must give one number']] : [];
  if (least === undefined && most === undefined)
    missing.push(['at_most', 'is missing; it or at_least must be a number']);
  if (least === undefined || most === undefined || least <= most) return missing;
  return [...missing, ['at_least', `must not be more than at_most, which is ${most}: no value would be good`]];
}

function questionsOf({ http, tcp, prometheus }: GateQuestion): string[] {
  return [http, tcp, prometheus].filter((each) => each !== undefined);
}

function isPlainUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.hostname !== '' && url.username + url.password === '';
}

function isHostPort(text: string): boolean {
  const { host, port } = splitHostPort(text);
  return /:\d{1,5}$/.test(text) && isHost(host) && port >= 1 && port <= 65_535;
}

/** Finds gates of a group that have the name of another: it could not be said which of them is meant. */
export function sameGateFaults(
  document: SiteDocument,
  gates: readonly HealthGate[],
  path: readonly PropertyKey[],
): SiteFault[] {
  return gates.flatMap(({ name }, index) => {
    if (gates.findIndex((other) => other.name === name) === index) return [];
    const message = `must be of this gate alone (given: ${JSON.stringify(name)}, again)`;
    return [fieldFault(document, [...path, index, 'name'], message, 'DuplicateGate')];
  });
}
