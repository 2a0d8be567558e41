import type { EngineContext } from '#conductor/flows/context.ts';
import { fakesFlow } from '#conductor/flows/log/fakes-flow.ts';
import { findRegistryImage } from '#conductor/images/find-registry-image.ts';
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
  options: { readonly patienceMs: number; readonly signal?: AbortSignal },
): Promise<ResolvedImage | undefined> {
  if (kind !== 'deploy' || !isOciSource(node.instanceInfo['image_source'])) return undefined;
  if (fakesFlow('deploy', node) || runsFromRamdisk(node) || writesNoImage(node)) return undefined;
  if (await findBootVolume(context.db, node.uuid)) return undefined;
  const { patienceMs, signal = AbortSignal.timeout(planMs) } = options;
  return findRegistryImage(context, node, { patienceMs, signal });
}

/** Time that everything asked of a registry for one plan may take. Milliseconds. */
const planMs = 30_000;

/**
 * Does the same for a request, whose caller gets the answer.
 * @param caller who is bound to a project may name any host: without a list of what may be fetched the answer does not say
 * what the conductor has met in its networks
 * @throws AppError as `findPlannedImage`, `invalid_argument` for an image that is not as it must be
 */
export async function findRequestedImage(
  context: Context,
  node: NodeRow,
  kind: FlowKindName | undefined,
  { project }: Pick<Caller, 'project'>,
): Promise<ResolvedImage | undefined> {
  try {
    return await findPlannedImage(context, node, kind, { patienceMs: registryPatience.plan });
  } catch (cause) {
    if (!(cause instanceof AppError)) throw cause;
    const isFound = ['image_missing', 'image_denied', 'image_checksum', 'image_unusable'].includes(
      cause.situation ?? '',
    );
    if (!isFound && cause.code !== 'unavailable') throw cause;
    const maySay = project === undefined || context.config.outbound.images.allow !== undefined;
    throw new AppError(isFound ? 'invalid_argument' : 'unavailable', 'instance_info.image_source can not be read', {
      cause: maySay ? cause : undefined,
      situation: cause.situation,
    });
  }
}
