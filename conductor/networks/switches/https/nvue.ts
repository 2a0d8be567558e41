import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { vlansIn } from '#conductor/model/port-vlans.ts';
import {
  commandTimeoutMs,
  type OpenCommandLine,
  oneByOne,
  shortenAnswer,
} from '#conductor/networks/switches/command-line/command-line.ts';
import { parseAnswer } from '#conductor/networks/switches/command-line/lines/parse-answer.ts';
import { type HttpsRequest, openHttps } from '#conductor/networks/switches/https/https-client.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { PeerAnswer } from '#shared/peers/ask-peer.ts';

/**
 * NVUE's REST API, commanded by the lines of `nv`: what is set and unset is sent as one revision when it is applied, each in
 * one request, where null unsets. What is unset goes first: in one request with what is set, NVUE says no order.
 */

const Revisions = z.record(z.string(), z.unknown());
const Revision = z.looseObject({ state: z.string(), transition: z.looseObject({ issue: z.unknown() }).optional() });

interface Pending {
  readonly unset: Tree;
  readonly set: Tree;
}
interface Tree {
  [key: string]: Tree | string | number | null;
}

const nothing = (): Pending => ({ unset: {}, set: {} });

const yes = { 'auto-prompt': { ays: 'ays_yes' } };
const pollMs = 250;

type Ask = (request: HttpsRequest) => Promise<PeerAnswer>;

export const nvue: OpenCommandLine = async (access) => {
  const https = await openHttps(access);
  const { endpoint } = access;
  let pending = nothing();
  const asking =
    (line: string, signal: AbortSignal | undefined): Ask =>
    async ({ method, path, body }) => {
      const headers = { authorization: https.basic };
      const answer = await https.ask({ method, path: `/nvue_v1${path}`, headers, body }, signal);
      if (answer.status < 300) return answer;
      throw new AppError(
        'switch_error',
        `switch ${endpoint} refused ${line}: HTTP ${answer.status} ${shortenAnswer(answer.text())}`,
      );
    };
  const runLine = async (line: string, signal: AbortSignal | undefined): Promise<string> => {
    const ask = asking(line, signal);
    const [, verb, rest = ''] = /^nv (\w+) ?(.*)$/.exec(line) ?? [];
    if (line === 'nv show interface -o json')
      return (await ask({ method: 'GET', path: '/interface?rev=operational' })).text();
    if (line === 'nv config show -o json') {
      return `[{"set":${(await ask({ method: 'GET', path: '/?rev=applied&filled=false' })).text()}}]`;
    }
    if (verb === 'set') put(pending.set, rest.split(' '));
    else if (verb === 'unset') unset(pending.unset, rest.split(' '));
    else if (line === 'nv config detach') pending = nothing();
    else if (line === 'nv config save') {
      await ask({ method: 'PATCH', path: '/revision/applied', body: { state: 'save', ...yes } });
    } else if (line === 'nv config apply -y') {
      const revision = pending;
      pending = nothing();
      await applyRevision(ask, revision, endpoint, signal);
    } else if (line !== 'set -e') throw new AppError('internal', `NVUE's API has nothing for ${line}`);
    return '';
  };
  return {
    run: oneByOne(async (script, signal) => {
      const [only = '', ...more] = script.split('\n');
      let output = await runLine(only, signal);
      for (const line of more) output = await runLine(line, signal);
      return output;
    }),
    isClosed: () => https.isClosed(),
    close: () => https.close(),
  };
};

async function applyRevision(
  ask: Ask,
  { unset, set }: Pending,
  endpoint: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const made = await ask({ method: 'POST', path: '/revision' });
  const [name] = Object.keys(parseAnswer(Revisions, made.text()));
  if (name === undefined)
    throw new AppError('switch_error', `switch ${endpoint} made no revision: ${shortenAnswer(made.text())}`);
  const revision = encodeURIComponent(name);
  for (const body of [unset, set]) {
    if (Object.keys(body).length > 0) await ask({ method: 'PATCH', path: `/?rev=${revision}`, body });
  }
  await ask({ method: 'PATCH', path: `/revision/${revision}`, body: { state: 'apply', ...yes } });
  const deadline = Date.now() + commandTimeoutMs;
  for (;;) {
    const { state, transition } = parseAnswer(
      Revision,
      (await ask({ method: 'GET', path: `/revision/${revision}` })).text(),
    );
    if (state === 'applied' || state === 'applied_and_saved') return;
    const isFault = /fail|invalid|^ays|error/.test(state);
    if (isFault || Date.now() > deadline) {
      const why = shortenAnswer(JSON.stringify(transition?.issue ?? {}));
      const code = isFault ? 'switch_error' : 'timeout';
      throw new AppError(code, `switch ${endpoint} did not apply its revision ${name}: state ${state}, ${why}`);
    }
    await sleep(pollMs, undefined, { signal }).catch((cause: unknown) => {
      throw new AppError('aborted', `a request to switch ${endpoint} was stopped`, { cause });
    });
  }
}

/** `interface swp1 bridge domain br_default access 100`: the last word is a value, but of `vlan` and `member` keys. */
function put(tree: Tree, words: readonly string[]): void {
  const keys = words.slice(0, -1);
  const last = words.at(-1) ?? '';
  const isList = keys.at(-1) === 'vlan' || keys.at(-1) === 'member';
  const place = placeOf(tree, isList ? keys : keys.slice(0, -1));
  if (keys.at(-1) === 'member') place[last] = {};
  else if (isList) for (const vlan of vlansIn(last)) place[vlan] = {};
  else place[keys.at(-1) ?? ''] = /^\d+$/.test(last) ? Number(last) : last;
}

/** Unsets a part of the tree; below what is unset as a whole nothing need be unset. */
function unset(tree: Tree, words: readonly string[]): void {
  const keys = words.slice(0, -1);
  const isGone = keys.some((_, depth) => valueAt(tree, keys.slice(0, depth + 1)) === null);
  if (!isGone) placeOf(tree, keys)[words.at(-1) ?? ''] = null;
}

function valueAt(tree: Tree, keys: readonly string[]): Tree[string] | undefined {
  return keys.reduce<Tree[string] | undefined>(
    (place, key) => (typeof place === 'object' ? place?.[key] : undefined),
    tree,
  );
}

function placeOf(tree: Tree, keys: readonly string[]): Tree {
  let place = tree;
  for (const key of keys) {
    const below = place[key];
    if (typeof below === 'object' && below) place = below;
    else {
      const made: Tree = {};
      place[key] = made;
      place = made;
    }
  }
  return place;
}
