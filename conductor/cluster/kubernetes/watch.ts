import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { Reply } from '#conductor/cluster/kubernetes/cluster.ts';
import type { openPeerLines } from '#shared/peers/ask-peer.ts';

const List = z.looseObject({ metadata: z.looseObject({ resourceVersion: z.string() }) });
const Event = z.looseObject({
  type: z.string(),
  object: z.looseObject({ metadata: z.looseObject({ resourceVersion: z.string().optional() }).optional() }),
});

type Answer = ReturnType<typeof openPeerLines>;

interface WatchHands {
  readonly connect: (resourceVersion: string) => Answer;
  readonly list: () => Promise<Reply>;
  readonly signal: AbortSignal;
  readonly changed: () => void;
}

const pauseMs = 1_000;

/**
 * Watches until the signal fires: from the version of a list on, again from the last version seen when the server ends
 * the connection, and from a new list when that version is too old (410) or the connection is lost.
 */
export async function keepWatching({ connect, list, signal, changed }: WatchHands): Promise<void> {
  let version: string | undefined;
  while (!signal.aborted) {
    try {
      if (version === undefined) {
        version = List.parse((await list()).body).metadata.resourceVersion;
        changed();
      }
      version = await follow(await connect(version), version, changed);
      // servers end watches after minutes: no reason to look anew
      if (version === undefined) await pause(signal);
    } catch {
      // the rounds, which look by themselves as well, tell what is wrong with the server
      version = undefined;
      await pause(signal);
    }
  }
}

/** @returns the last version seen, or `undefined` when a new list is needed */
async function follow(
  { status, lines }: Awaited<Answer>,
  from: string,
  changed: () => void,
): Promise<string | undefined> {
  if (status !== 200) return undefined;
  let version = from;
  for await (const line of lines) {
    const { type, object } = Event.parse(line);
    if (type === 'ERROR') return undefined;
    version = object.metadata?.resourceVersion ?? version;
    if (type !== 'BOOKMARK') changed();
  }
  return version;
}

async function pause(signal: AbortSignal): Promise<void> {
  await delay(pauseMs, undefined, { signal }).catch(() => undefined);
}
