import { z } from 'zod';
import { keepServed } from '#conductor/agents/agent-session-store.ts';
import { type BootMediumParams, predictMedium } from '#conductor/boot/boot-medium.ts';
import type { EngineContext } from '#conductor/flows/context.ts';
import { bootMediumParamsOf, bootSecrets } from '#conductor/flows/network/ramdisk-params.ts';
import type { AgentSessionRow } from '#conductor/kernel/db/schema/agent.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { nodePlace, openAgentToken } from '#conductor/kernel/secrets/node-secrets.ts';
import { attestationOf } from '#conductor/model/tpm/attestation-mode.ts';
import type { BootFacts } from '#conductor/model/tpm/judge-boot.ts';
import { bootsByHttp, bootsFromVirtualMedia } from '#conductor/nodes/node-interfaces.ts';
import { listNodePorts } from '#conductor/nodes/ports/port-store.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';

type Context = Pick<EngineContext, 'db' | 'config' | 'secrets'>;

const Event = z.strictObject({ pcr: z.number(), digests: z.array(z.string()), subject: z.string() });
/** Content that a machine is served in one boot, by the settings of the time when it was first served. */
const ServedBoot = z.strictObject({
  params: z.strictObject({ parameters: z.string(), secrets: z.array(z.string()) }),
  predicted: z.union([
    z.strictObject({
      programs: z.array(z.strictObject({ name: z.string(), sha256: z.string() })),
      kernel: z.string(),
      events: z.array(Event),
    }),
    z.strictObject({ problem: z.string() }),
  ]),
});
interface ServedBoot {
  readonly params: BootMediumParams;
  readonly predicted: BootFacts['predicted'];
}

/**
 * Reads what the node's medium, or its ISO by HTTP boot, has in this boot, and what a machine that boots it measures. Where
 * boots are attested both are kept with the boot: a setting or a ramdisk that changes meanwhile is served at the next boot,
 * and makes no honest machine a liar.
 */
export async function readServedBoot(context: Context, node: NodeRow, session: AgentSessionRow): Promise<ServedBoot> {
  const place = nodePlace(node.uuid, 'served_boot');
  const open = (sealed: string): ServedBoot => ServedBoot.parse(JSON.parse(context.secrets.open(sealed, place)));
  if (session.served !== null) return open(session.served);
  const all = await listServedParams(context, node, session);
  const params = ownParams(context, node, session);
  if (attestationOf(context.config, node) === 'off') return { params, predicted: { problem: 'nothing is attested' } };
  const served: ServedBoot = {
    params,
    predicted: await predictBoot(context, node, all),
  };
  const kept = await keepServed(context.db, session, context.secrets.seal(JSON.stringify(served), place));
  return kept === undefined ? served : open(kept);
}

function ownParams(context: Context, node: NodeRow, session: AgentSessionRow): BootMediumParams {
  const mac = bootsByHttp(node) ? session.bootMac : null;
  const secrets = bootSecrets(context.config, node, openAgentToken(context.secrets, session));
  return bootMediumParamsOf(context, node, { secrets, ...(mac === null ? {} : { mac }) });
}

/**
 * Lists all that the machine may be served, the session's first. By HTTP any card may load it, without the token where that
 * was fetched from another address before. A conductor of the release before puts no proof of the boot into its media.
 */
export async function listServedParams(
  context: Context,
  node: NodeRow,
  session: AgentSessionRow,
): Promise<readonly BootMediumParams[]> {
  const own = ownParams(context, node, session);
  const cards = bootsByHttp(node) ? await listNodePorts(context.db, node.uuid) : [];
  const others = cards.map(({ address }) => bootMediumParamsOf(context, node, { secrets: [], mac: address }));
  const isOlder = attestationOf(context.config, node) === 'require' && bootsFromVirtualMedia(node);
  return [own, ...(isOlder ? [{ ...own, secrets: [] }] : []), ...others];
}

/** Predicts what the node's machine measures, or says why that can't be. */
async function predictBoot(
  { config }: Pick<EngineContext, 'config'>,
  node: NodeRow,
  params: readonly BootMediumParams[],
): Promise<BootFacts['predicted']> {
  if (!bootsFromVirtualMedia(node) && !bootsByHttp(node))
    return {
      problem: 'the ramdisk is loaded by iPXE, which does not measure it: boot it by virtual media or UEFI HTTP',
    };
  try {
    const predicted = await predictMedium(config.ramdiskDirectory, params);
    return predicted ?? { problem: 'the boot medium was made by an older release, or kernel_append_params has quotes' };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { problem: errorChain(error) };
  }
}

/** Describes why the node's next boot can't be trusted, whatever its machine does; `undefined`: it can. */
export async function describeUnprovable(
  context: Pick<EngineContext, 'config' | 'secrets'>,
  node: NodeRow,
): Promise<string | undefined> {
  const predicted = await predictBoot(context, node, [bootMediumParamsOf(context, node, { secrets: [] })]);
  return 'problem' in predicted ? predicted.problem : undefined;
}
