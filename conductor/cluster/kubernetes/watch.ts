import { setTimeout as delay } from 'node:timers/promises';
import type { Response } from 'undici';
import { z } from 'zod';
import type { Reply } from '#conductor/cluster/kubernetes/cluster.ts';

const List = z.looseObject({ metadata: z.looseObject({ resourceVersion: z.string() }) });
const Event = z.looseObject({
  type: z.string(),
  object: z.looseObject({ metadata: z.looseObject({ resourceVersion: z.string().optional() }).optional() }),
});

interface WatchHands {
  readonly connect: (resourceVersion: string) => Promise<Response>;
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
async function follow(response: Response, from: string, changed: () => void): Promise<string | undefined> {
  if (!response.ok || !response.body) {
    await response.body?.cancel();
    return undefined;
  }
  let version = from;
  let rest = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body) {
    rest += decoder.decode(chunk as Uint8Array, { stream: true });
    const lines = rest.split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line.trim() === '') continue;
      const { type, object } = Event.parse(JSON.parse(line));
      if (type === 'ERROR') return undefined;
      version = object.metadata?.resourceVersion ?? version;
      if (type !== 'BOOKMARK') changed();
    }
  }
  return version;
}

async function pause(signal: AbortSignal): Promise<void> {
  await delay(pauseMs, undefined, { signal }).catch(() => undefined);
}
