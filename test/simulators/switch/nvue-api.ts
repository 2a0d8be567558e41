import { perInterface } from '#conductor/networks/switches/os/ports/cumulus-keys.ts';
import {
  type HttpsAnswer,
  type HttpsRequest,
  type HttpsSwitch,
  startHttpsSwitch,
  unauthorized,
} from '#test/simulators/switch/https-server.ts';

/** NVUE's REST API: revisions that are filled, applied in the background, and polled. From NVIDIA's documents. */

type Tree = { [key: string]: Tree | string | number | null };

export interface NvueSwitch extends HttpsSwitch {
  readonly state: NvueState;
}

interface NvueState {
  applied: Tree;
  startup: Tree;
  readonly revisions: Map<string, { config: Tree; state: string; issue: unknown }>;
  /** How often a revision is looked at before it is applied. */
  looks: number;
  /** Error that applying fails with. */
  failure: string | undefined;
  readonly ports: readonly string[];
  /** State that it shows of them, as recorded. */
  readonly shown: Tree;
}

export async function startNvueSwitch(fresh: {
  readonly applied: unknown;
  readonly ports: readonly string[];
  readonly shown?: object;
}): Promise<NvueSwitch> {
  const applied = structuredClone(fresh.applied) as Tree;
  const state: NvueState = {
    applied,
    startup: structuredClone(applied),
    revisions: new Map(),
    looks: 2,
    failure: undefined,
    ports: fresh.ports,
    shown: (fresh.shown ?? Object.fromEntries(fresh.ports.map((port) => [port, { type: 'swp' }]))) as Tree,
  };
  const server = await startHttpsSwitch((request) => answer(state, request));
  return { ...server, state };
}

function answer(state: NvueState, request: HttpsRequest): HttpsAnswer {
  const { isKnown, method, path, query, body } = request;
  if (!isKnown) return unauthorized;
  if (!path.startsWith('/nvue_v1/')) return { status: 404 };
  const words = path.slice('/nvue_v1/'.length).split('/').filter(Boolean).map(decodeURIComponent);
  if (words[0] === 'revision') return aboutRevision(state, request, words[1]);
  if (method === 'GET') {
    if (words[0] === 'interface')
      return {
        body: { ...Object.fromEntries(madeBonds(state).map((bond) => [bond, { type: 'bond' }])), ...state.shown },
      };
    return { body: state.applied };
  }
  const revision = state.revisions.get(query.get('rev') ?? '');
  if (revision?.state !== 'pending') return { status: 404, body: { title: 'Not Found', detail: 'revision' } };
  const patch = JSON.parse(body) as Tree;
  const unknown = Object.keys((patch['interface'] ?? {}) as Tree).find(
    (port) => !state.ports.includes(port) && !/^bond\d+$/.test(port),
  );
  if (unknown !== undefined)
    return { status: 400, body: { title: 'Bad Request', detail: `Invalid parameter: ${unknown}` } };
  merge(revision.config, patch);
  return { body: patch };
}

/** NVUE keeps each interface, and writes those that are alike as one. */
function eachAlone(config: Tree): Tree {
  const { byName } = perInterface([(config['interface'] ?? {}) as Tree], new Set(), () => false);
  // as text, so that none shares its settings with another of its range
  return JSON.parse(JSON.stringify({ ...config, interface: Object.fromEntries(byName) })) as Tree;
}

function madeBonds({ applied }: NvueState): string[] {
  return Object.keys((applied['interface'] ?? {}) as Tree).filter((name) => /^bond\d+$/.test(name));
}

function aboutRevision(state: NvueState, { method, body }: HttpsRequest, name: string | undefined): HttpsAnswer {
  if (method === 'POST') {
    const made = `changeset/baton/${state.revisions.size + 1}`;
    state.revisions.set(made, { config: eachAlone(state.applied), state: 'pending', issue: {} });
    return { status: 201, body: { [made]: { state: 'pending', transition: { issue: {}, progress: '' } } } };
  }
  if (name === 'applied') {
    if (method === 'PATCH') state.startup = structuredClone(state.applied);
    return { body: { state: 'saved' } };
  }
  const revision = state.revisions.get(name ?? '');
  if (!revision) return { status: 404 };
  if (method === 'PATCH') {
    const asked = JSON.parse(body) as { state: string; 'auto-prompt'?: { ays: string } };
    if (asked.state !== 'apply' || asked['auto-prompt']?.ays !== 'ays_yes')
      return { status: 400, body: { title: 'state' } };
    revision.state = 'ready';
    for (let look = 0; look < state.looks; look += 1) revision.state += '+';
  } else if (revision.state === 'ready') {
    if (state.failure === undefined) state.applied = structuredClone(revision.config);
    revision.state = state.failure === undefined ? 'applied' : 'invalid';
    revision.issue = state.failure === undefined ? {} : { '00000': { code: 'config_invalid', message: state.failure } };
  } else if (revision.state.endsWith('+')) revision.state = revision.state.slice(0, -1);
  return { body: { state: revision.state.replace(/\++$/, ''), transition: { issue: revision.issue, progress: '' } } };
}

function merge(tree: Tree, patch: Tree): void {
  for (const [key, value] of Object.entries(patch)) {
    const below = tree[key];
    if (value === null) delete tree[key];
    else if (typeof value !== 'object') tree[key] = value;
    else {
      const place = typeof below === 'object' && below ? below : {};
      tree[key] = place;
      merge(place, value);
    }
  }
}
