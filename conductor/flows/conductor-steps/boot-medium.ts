import { randomBytes } from 'node:crypto';
import { forgetAgentSession, insertAgentSession } from '#conductor/agents/agent-session-store.ts';
import { openBootMedium } from '#conductor/boot/boot-medium.ts';
import type { VirtualMediaInterface } from '#conductor/drivers/interfaces.ts';
import { bootMediumPath, isBootMediumOf } from '#conductor/flows/network/boot-answers.ts';
import type { StepContext } from '#conductor/flows/step-context.ts';
import { nodePlace, openNodeDocument } from '#conductor/kernel/secrets/node-secrets.ts';
import { bootsFromVirtualMedia } from '#conductor/nodes/node-interfaces.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * Puts this boot's CD into the machine's virtual drive. The agent's token stands on it and so never crosses the boot
 * network; the address of the CD is made of the token, and is gone with it.
 */
export async function insertBootMedium(context: StepContext): Promise<void> {
  const { node, signal } = context;
  const media = requireVirtualMedia(context);
  // before the drive is emptied: afterwards only the BMC would see the error
  await checkBootMedium(context);
  const token = randomBytes(32).toString('base64url');
  await context.record(async (tx) => {
    await forgetAgentSession(tx, node.uuid);
    await insertAgentSession(tx, node.uuid, context.secrets.seal(token, nodePlace(node.uuid, 'agent_token')));
  });
  const { external_http_url: own } = openNodeDocument(context.secrets, node, 'driverInfo');
  const base = typeof own === 'string' ? own : context.config.boot.url;
  const url = `${base.replace(/\/+$/, '')}${bootMediumPath(node.uuid, token)}`;
  const replaces = (image: string): boolean => isBootMediumOf(node.uuid, image);
  const { beside } = await media.insert(url, { signal, replaces });
  if (beside.length > 0) context.log.warn({ slots: beside }, 'other discs are in its drives: it may boot one of them');
}

/** @throws AppError `not_supported` where the ramdisk has none, which only its firmware would be given */
export async function checkBootMedium({ config }: Pick<StepContext, 'config'>): Promise<void> {
  await (await openBootMedium(config.ramdiskDirectory, { parameters: '', secrets: [] })).close();
}

/** @throws AppError `not_supported` */
export function requireVirtualMedia({ bmc, node }: Pick<StepContext, 'bmc' | 'node'>): VirtualMediaInterface {
  const media = bmc().virtualMedia;
  if (media) return media;
  throw new AppError('not_supported', `driver ${node.driver} has no virtual media`);
}

/**
 * Ejects the boot medium after a boot from it. The machine boots from it once at most, and its address is gone: a BMC that
 * keeps it is logged, and holds nothing up. Any other image in the drive is the instance's, which may be running from it, or
 * an operator's.
 */
export async function ejectBootMedium(context: DriveContext): Promise<void> {
  await eject(context, (image) => isBootMediumOf(context.node.uuid, image));
}

/** Ejects any medium once the instance is gone, so that the next one does not see it; a BMC that keeps it is logged. */
export async function ejectWhatever(context: DriveContext): Promise<void> {
  await eject(context, () => true);
}

type DriveContext = Pick<StepContext, 'bmc' | 'log' | 'node' | 'signal'>;

async function eject({ bmc, log, node, signal }: DriveContext, only: (image: string) => boolean): Promise<void> {
  if (!bootsFromVirtualMedia(node)) return;
  try {
    await bmc().virtualMedia?.eject({ signal, only });
  } catch (error) {
    signal.throwIfAborted();
    log.warn({ err: error }, 'virtual media not ejected');
  }
}
