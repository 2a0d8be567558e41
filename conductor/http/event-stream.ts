import type { Change, FleetWatch, Subject } from '#conductor/flows/watch-fleet.ts';

/** Of one reader: who is further behind fetches everything again. */
const maxPending = 2000;
const beatMs = 10_000;
/** Beats without a read, after which a reader has given up: a minute. */
const maxMissedBeats = 6;

export interface StreamOptions {
  readonly watch: FleetWatch;
  /** What is of no other project; `undefined` = everything. */
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
    last: undefined as string | undefined,
    isOver: false,
    missedBeats: 0,
    /** Ends the stream under a reader that takes nothing. */
    cut: (): void => undefined,
  };
  let wake = (): void => undefined;

  const put = (changes: readonly Change[], readAt: number): void => {
    state.readAt = readAt;
    pending.add(changes);
    if (!pending.isEmpty()) wake();
  };
  const watching = await watch.start(since, put);
  state.readAt = watching.readAt;
  if (watching.missed) put(watching.missed, watching.readAt);
  const finish = (event?: string): void => {
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
  const take = (): string => {
    const events = pending.take();
    // the id comes last: who loses the connection amid these gets them again
    return `${events.join('')}${render(state.last ?? 'beat', state.readAt)}`;
  };
  const encoder = new TextEncoder();
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
        controller.enqueue(encoder.encode(take()));
        if (state.last === undefined) return;
        end();
        controller.close();
      },
      cancel: end,
    },
    { highWaterMark: 1 },
  );
}

/** What a reader has not taken: the last state of each subject, or `reload` when that is too much. */
function pendingEvents(project: string | undefined) {
  const events = new Map<string, string>();
  let mustReload = false;
  return {
    isEmpty: (): boolean => events.size === 0 && !mustReload,
    add: (changes: readonly Change[]): void => {
      for (const change of changes) {
        const event = eventFor(change, project);
        if (event === undefined || mustReload) continue;
        events.set(change.now.uuid, event);
        if (events.size <= maxPending) continue;
        events.clear();
        mustReload = true;
      }
    },
    take: (): string[] => {
      const taken = mustReload ? [render('reload')] : [...events.values()];
      events.clear();
      mustReload = false;
      return taken;
    },
  };
}

function render(event: string, id?: number, data = '{}'): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${data}\n\n`;
}

/** What this caller is shown of it; `undefined` = nothing. */
function eventFor({ before, now }: Change, project: string | undefined): string | undefined {
  if (now.body === undefined || !isVisible(now, project)) {
    if (!before || !isVisible(before, project)) return undefined;
    return render('gone', undefined, JSON.stringify({ kind: now.kind, uuid: now.uuid }));
  }
  const isLessee = now.kind === 'node' && project !== undefined && now.owner !== project;
  const body = isLessee ? JSON.stringify({ ...(JSON.parse(now.body) as object), last_error: null }) : now.body;
  return render(now.kind, undefined, body);
}

/** As `GET /v1/nodes`, `GET /v1/flows` and `GET /api/v1.0/actions` have it. */
function isVisible({ kind, owner, lessee }: Subject, project: string | undefined): boolean {
  if (project === undefined) return true;
  return kind !== 'action' && (owner === project || (kind === 'node' && lessee === project));
}
