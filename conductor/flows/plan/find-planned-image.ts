import type { EngineContext } from '#conductor/flows/context.ts';
import { fakesFlow } from '#conductor/flows/log/fakes-flow.ts';
import { type AskOptions, findRegistryImage } from '#conductor/images/find-registry-image.ts';
import type { Caller } from '#conductor/kernel/caller.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { FlowKindName } from '#conductor/model/flows/flow-states.ts';
import { runsFromRamdisk } from '#conductor/nodes/boot/ramdisk-instance.ts';
import { writesNoImage } from '#conductor/nodes/node-interfaces.ts';
import { findBootVolume } from '#conductor/nodes/resources/volume.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { isOciSource } from '#shared/oci/reference.ts';
import type { ResolvedImage } from '#shared/oci/resolve-image.ts';

type Context = Pick<EngineContext, 'clock' | 'config' | 'db' | 'secrets'>;

/** Time that a plan may wait for a busy registry, and that a deploy may. Milliseconds. */
export const registryPatience = { plan: 5_000, deploy: 120_000 } as const;

/**
 * Finds the image in a registry that a flow of this kind is going to write; `undefined` = it writes none from there. It
 * asks the registry: not within a transaction.
 * @throws AppError as `findRegistryImage`
 */
export async function findPlannedImage(
  context: Context,
  node: NodeRow,
  kind: FlowKindName | undefined,
  options: AskOptions,
): Promise<ResolvedImage | undefined> {
  if (kind !== 'deploy' || !isOciSource(node.instanceInfo['image_source'])) return undefined;
  if (fakesFlow('deploy', node) || runsFromRamdisk(node) || writesNoImage(node)) return undefined;
  if (await findBootVolume(context.db, node.uuid)) return undefined;
  return findRegistryImage(context, node, options);
}

/** Time that everything asked of a registry for one plan may take. Milliseconds. */
const planMs = 30_000;

/**
 * Finds the image as `findPlannedImage` does, for a request whose caller gets the error.
 * @param caller a caller of a project may name any host: without a list of what may be fetched it gets the same answer
 * whatever the conductor has met in its networks
 * @throws AppError `invalid_argument` for an image that can't be read, `unavailable` where that may pass, `forbidden`,
 * `not_supported`
 */
export async function findRequestedImage(
  context: Context,
  node: NodeRow,
  kind: FlowKindName | undefined,
  { project, limitMs = planMs }: Pick<Caller, 'project'> & { readonly limitMs?: number },
): Promise<ResolvedImage | undefined> {
  const signal = AbortSignal.timeout(limitMs);
  let hasAsked = false;
  const onAsk = (): void => {
    hasAsked = true;
  };
  try {
    return await findPlannedImage(context, node, kind, { patienceMs: registryPatience.plan, signal, onAsk });
  } catch (error) {
    const cause = signal.aborted
      ? new AppError('unavailable', `no whole answer within ${limitMs / 1000} s`, { situation: 'image_server' })
      : error;
    if (!(cause instanceof AppError)) throw cause;
    const { code, situation } = cause;
    const what = 'instance_info.image_source can not be read';
    // before a host is asked, a fault is that of the fields alone
    if (project !== undefined && context.config.outbound.images.allow === undefined && hasAsked) {
      const why = "a project's callers get the reason where BATON_IMAGE_URL_ALLOW says what may be fetched";
      throw new AppError('invalid_argument', `${what}: ${why}`);
    }
    if (code === 'unavailable') throw new AppError(code, what, { cause, situation });
    if (code !== 'image_error') throw cause;
    throw new AppError('invalid_argument', what, { cause, situation });
  }
}
