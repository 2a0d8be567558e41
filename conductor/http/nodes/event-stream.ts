import type { FleetEvents } from '#conductor/api/events.ts';
import { dataOf, type Subject } from '#conductor/flows/watch/read-changed-nodes.ts';
import type { Change, FleetWatch } from '#conductor/flows/watch/watch-fleet.ts';

/** Limit of pending events of one reader: one that is further behind fetches everything again. */
const maxPending = 2000;
const beatMs = 10_000;
const encoder = new TextEncoder();
/** Beats without a read, after which a reader has given up: a minute. */
const maxMissedBeats = 6;

export interface StreamOptions {
  readonly watch: FleetWatch;
  /** The project whose events alone are sent; `undefined` = everything. */
  readonly project: string | undefined;
  readonly since: number | undefined;
  /** Whether the login that it was begun with would be let in still. */
  readonly isAllowed: () => Promise<boolean>;
  /** The conductor stops. */
  readonly stopping: AbortSignal;
  readonly onEnd: () => void;
}

/**
 * One reader's events, as `text/event-stream`. What the reader has not taken yet is kept by subject, the last state only.
 * It begins with `hello`, or `reload` when what was missed is not known; `logout` and `bye` end it.
 */
export async function openEventStream(options: StreamOptions): Promise<ReadableStream<Uint8Array>> {
  const { watch, project, since, isAllowed, stopping, onEnd } = options;
  const pending = pendingEvents(project);
  const state = {
    readAt: 0,
    last: undefined as 'logout' | 'bye' | undefined,
    isOver: false,
    missedBeats: 0,
    /** Ends the stream under a reader that takes nothing. */
    cut: (): void => undefined,
  };
  let wake = (): void => undefined;

  const put = (changes: readonly Change[], readAt: number): void => {
    state.readAt = readAt;
    pending.add(changes, readAt);
    if (!pending.isEmpty()) wake();
  };
  const watching = await watch.start(since, put);
  state.readAt = watching.readAt;
  if (watching.missed) put(watching.missed, watching.readAt);
  const finish = (event?: 'logout' | 'bye'): void => {
    state.last ??= event;
    watching.stop();
    wake();
  };
  const onStop = (): void => finish('bye');
  stopping.addEventListener('abort', onStop);
  const beat = setInterval(() => {
    state.missedBeats += 1;
    if (state.missedBeats > maxMissedBeats) {
      state.cut();
      end();
      return;
    }
    // who can't be asked now is asked again at the next beat
    isAllowed().then(
      (allowed) => (allowed ? wake() : finish('logout')),
      () => wake(),
    );
  }, beatMs);
  const end = (): void => {
    if (state.isOver) return;
    state.isOver = true;
    clearInterval(beat);
    stopping.removeEventListener('abort', onStop);
    watching.stop();
    onEnd();
  };
  const first = since !== undefined && !watching.missed ? 'reload' : 'hello';
  return new ReadableStream<Uint8Array>(
    {
      start: (controller) => {
        state.cut = () => controller.error(new Error('the reader of the events takes nothing'));
        controller.enqueue(encoder.encode(`retry: 2000\n${render(first, watching.readAt)}`));
      },
      pull: async (controller) => {
        state.missedBeats = 0;
        if (pending.isEmpty() && state.last === undefined)
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        if (state.isOver) return;
        controller.enqueue(pending.take(state.last ?? 'beat', state.readAt));
        if (state.last === undefined) return;
        end();
        controller.close();
      },
      cancel: end,
    },
    { highWaterMark: 1 },
  );
}

/** Changes as events, and as the bytes that a reader gets who takes nothing else. */
interface Rendered {
  readonly events: ReadonlyMap<string, string>;
  readonly bytes: Uint8Array;
}

/** The id comes last: who loses the connection amid these gets them again. */
function toBytes(events: Iterable<string>, last: keyof FleetEvents, readAt: number): Uint8Array {
  return encoder.encode(`${[...events].join('')}${render(last, readAt)}`);
}

/** A thousand readers get the same: it is rendered once for all that may see the same. */
const renderedChanges = new WeakMap<readonly Change[], Map<string | undefined, Rendered>>();

function renderChanges(changes: readonly Change[], project: string | undefined, readAt: number): Rendered {
  const byProject = renderedChanges.get(changes) ?? new Map<string | undefined, Rendered>();
  renderedChanges.set(changes, byProject);
  const known = byProject.get(project);
  if (known) return known;
  const events = new Map<string, string>();
  for (const change of changes) {
    const event = eventFor(change, project);
    if (event !== undefined) events.set(change.now.uuid, event);
  }
  const rendered = { events, bytes: toBytes(events.values(), 'beat', readAt) };
  byProject.set(project, rendered);
  return rendered;
}

/** Keeps what a reader has not taken: the last state of each subject, or `reload` when that is too much. */
function pendingEvents(project: string | undefined) {
  const state = { only: undefined as Rendered | undefined, several: new Map<string, string>(), mustReload: false };
  const clear = (): void => {
    state.only = undefined;
    state.several = new Map();
  };
  return {
    isEmpty: (): boolean => !state.only && state.several.size === 0 && !state.mustReload,
    add: (changes: readonly Change[], readAt: number): void => {
      const rendered = renderChanges(changes, project, readAt);
      if (rendered.events.size === 0 || state.mustReload) return;
      if (!state.only && state.several.size === 0 && rendered.events.size <= maxPending) {
        state.only = rendered;
        return;
      }
      for (const { events } of state.only ? [state.only, rendered] : [rendered]) {
        for (const [uuid, event] of events) state.several.set(uuid, event);
      }
      state.only = undefined;
      if (state.several.size <= maxPending) return;
      clear();
      state.mustReload = true;
    },
    /** @param last the event with the id */
    take: (last: keyof FleetEvents, readAt: number): Uint8Array => {
      const { only, several, mustReload } = state;
      clear();
      state.mustReload = false;
      if (only && last === 'beat') return only.bytes;
      return toBytes(mustReload ? [render('reload')] : (only?.events ?? several).values(), last, readAt);
    },
  };
}

function render(event: keyof FleetEvents, id?: number, data = '{}'): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${data}\n\n`;
}

/** Makes the event that this caller is shown of a change; `undefined` = none. */
function eventFor({ before, now }: Change, project: string | undefined): string | undefined {
  if (now.body === undefined || !isVisible(now, project)) {
    if (!before || !isVisible(before, project)) return undefined;
    return render('gone', undefined, dataOf('gone', { kind: now.kind, uuid: now.uuid }));
  }
  const isLessee = now.kind === 'node' && project !== undefined && now.owner !== project;
  const body = isLessee
    ? JSON.stringify({ ...(JSON.parse(now.body) as object), last_error: null, attestation: null })
    : now.body;
  return render(now.kind, undefined, body);
}

/** Decides whether a caller sees a subject, as `GET /v1/nodes`, `GET /v1/flows` and `GET /api/v1.0/actions` do. */
function isVisible({ kind, owner, lessee }: Subject, project: string | undefined): boolean {
  if (project === undefined) return true;
  return kind !== 'action' && (owner === project || (kind === 'node' && lessee === project));
}
