import { eq } from 'drizzle-orm';
import type { BootClient } from '#conductor/agents/agent-session-store.ts';
import type { BootMediumParams } from '#conductor/boot/boot-medium.ts';
import { bootMediumParamsOf } from '#conductor/flows/boot-medium-answer.ts';
import { giveBootSecrets } from '#conductor/flows/boot-secrets.ts';
import type { EngineContext } from '#conductor/flows/context.ts';
import { readRequiredBoot } from '#conductor/flows/read-required-boot.ts';
import { ports } from '#conductor/kernel/db/schema/port.ts';
import { bootsByHttp } from '#conductor/nodes/node-interfaces.ts';
import { getNode } from '#conductor/nodes/node-store.ts';

/** What firmware that boots by HTTP gets: this node's ramdisk as an ISO, nothing (its next boot device), or iPXE. */
export type HttpBootAnswer =
  | { readonly kind: 'ramdisk'; readonly params: BootMediumParams }
  | { readonly kind: 'local disk' }
  | { readonly kind: 'iPXE' };

/** For nodes with `boot_interface` `http`; their boot's token goes to the first who asks, as over iPXE. */
export async function answerHttpBoot(
  context: Pick<EngineContext, 'db' | 'config' | 'secrets' | 'log'>,
  client: BootClient,
): Promise<HttpBootAnswer> {
  const { db } = context;
  const [port] = await db.select({ nodeUuid: ports.nodeUuid }).from(ports).where(eq(ports.address, client.mac));
  const node = port && (await getNode(db, port.nodeUuid));
  if (!node || !bootsByHttp(node)) return { kind: 'iPXE' };
  if ((await readRequiredBoot(db, node)) === 'local disk') return { kind: 'local disk' };
  const secrets = (await giveBootSecrets(context, client)) ?? [];
  return { kind: 'ramdisk', params: bootMediumParamsOf(context, node, { secrets, mac: client.mac }) };
}
