import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { Reply, WatchChange } from '#conductor/cluster/kubernetes/client/cluster.ts';
import { readPage } from '#conductor/cluster/kubernetes/client/read-answer.ts';
import type { openPeerLines } from '#shared/peers/ask-peer.ts';

const Event = z.looseObject({
  type: z.string(),
  object: z.looseObject({ metadata: z.looseObject({ resourceVersion: z.string().optional() }).optional() }),
});

type Answer = ReturnType<typeof openPeerLines>;

interface WatchOptions {
  readonly connect: (resourceVersion: string) => Answer;
  readonly list: () => Promise<Reply>;
  readonly signal: AbortSignal;
  readonly changed: (change: WatchChange) => void;
  /** Nothing is heard from now on, until it is listed again. */
  readonly lost?: (() => void) | undefined;
}

const pauseMs = 1_000;

/**
 * Watches until the signal fires: from the version of a list on, again from the last version seen when the server ends
 * the connection, and from a new list when that version is too old (410) or the connection is lost.
 */
export async function keepWatching({ connect, list, signal, changed, lost }: WatchOptions): Promise<void> {
  let version: string | undefined;
  while (!signal.aborted) {
    try {
      if (version === undefined) {
        const { items, next, resourceVersion } = readPage(await list(), z.unknown(), 'what is watched');
        if (resourceVersion === undefined || next !== undefined) throw new Error('only a part is listed');
        version = resourceVersion;
        changed({ type: 'LISTED', items });
      }
      version = await follow(await connect(version), version, changed);
      if (version === undefined) lost?.();
      // servers end watches after minutes: no reason to look again
      if (version === undefined) await pause(signal);
    } catch {
      // the rounds, which look by themselves as well, report what is wrong with the server
      version = undefined;
      lost?.();
      await pause(signal);
    }
  }
}

/** @returns the last version seen, or `undefined` when a new list is needed */
async function follow(
  { status, lines }: Awaited<Answer>,
  from: string,
  changed: WatchOptions['changed'],
): Promise<string | undefined> {
  if (status !== 200) return undefined;
  let version = from;
  for await (const line of lines) {
    const { type, object } = Event.parse(line);
    if (type === 'ERROR') return undefined;
    version = object.metadata?.resourceVersion ?? version;
    if (type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED') changed({ type, object });
  }
  return version;
}

async function pause(signal: AbortSignal): Promise<void> {
  await delay(pauseMs, undefined, { signal }).catch(() => undefined);
}
