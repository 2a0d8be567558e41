import { randomBytes } from 'node:crypto';
import { findAgentSession, insertAgentSession } from '#conductor/agents/agent-session-store.ts';
import { bootProof } from '#conductor/agents/boot-proof.ts';
import type { AgentLookup } from '#conductor/api/node-parts.ts';
import type { EngineContext } from '#conductor/flows/context.ts';
import { readRequiredBoot } from '#conductor/flows/network/boot-answers.ts';
import { failBoot } from '#conductor/flows/request/fail-boot.ts';
import type { AgentSessionRow } from '#conductor/kernel/db/schema/agent.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { maskDocument } from '#conductor/kernel/secrets/mask-document.ts';
import { nodePlace, openAgentToken } from '#conductor/kernel/secrets/node-secrets.ts';
import { attestationOf } from '#conductor/model/tpm/attestation-mode.ts';
import { noteBootEvent, recordBootEvent } from '#conductor/nodes/boot/boot-event-store.ts';
import { imageFormats } from '#conductor/nodes/boot/image-info.ts';
import { noteRefusal } from '#conductor/nodes/boot/note-refusal.ts';
import { withSparedDisks } from '#conductor/nodes/boot/os-disk.ts';
import { addStrangersHistory } from '#conductor/nodes/node-history.ts';
import { bootsFromVirtualMedia } from '#conductor/nodes/node-interfaces.ts';
import { findNode } from '#conductor/nodes/node-store.ts';
import { listNodesByAddresses } from '#conductor/nodes/ports/port-store.ts';
import { reportSharedAddresses } from '#conductor/nodes/ports/report-shared-addresses.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { isSameSecret } from '#shared/is-same-secret.ts';
import { mask } from '#shared/secret-words.ts';

/**
 * Ironic shows a token once; a lost answer then costs a whole deploy. A load balancer gives up on a conductor that hangs
 * after most of a minute.
 */
const repeatTokenMs = 60_000;
/** Tokens exist since this microversion. */
const tokenVersion = 62;

export interface LookupRequest {
  /** Lower-case MAC addresses. */
  readonly addresses: readonly string[];
  readonly nodeUuid?: string | undefined;
  /** Token that this boot's iPXE or CD has given the agent. */
  readonly bootToken?: string | undefined;
  /** The machine's TPM has proved which machine it is and what it has booted. */
  readonly isTrusted?: boolean | undefined;
  /** Reason of the machine why it has proved nothing. */
  readonly attestationProblem?: string | undefined;
  /** Minor of the microversion in use. */
  readonly version: number;
}

/**
 * `GET /v1/lookup`: who the machine is, and the boot's token the first time it asks.
 * @throws AppError `not_found`, with one text for every reason, so that a stranger learns nothing.
 */
export async function lookupNode(
  context: Pick<EngineContext, 'db' | 'config' | 'clock' | 'secrets' | 'log' | 'nudge'>,
  request: LookupRequest,
): Promise<AgentLookup> {
  const { db } = context;
  const node = await findBootingNode(context, request);
  if (attestationOf(context.config, node) === 'require') {
    if (request.isTrusted) return answerWithToken(context, node, request.version);
    const reason = `${withoutProof}${describeProblem(request.attestationProblem)}`;
    const attestation = { verdict: 'unknown', reasons: [reason] } as const;
    await failBoot(context, node, { bootToken: request.bootToken, attestation });
    return refuse(context, node, reason);
  }
  const session = await findAgentSession(db, node.uuid);
  // booted while boots had to be attested, which they have no longer
  if (showsProof(context, node, session, request.bootToken)) return answerWithToken(context, node, request.version);
  if (isTokenGiven(context, node, session)) {
    if (!hasToken(context, session, request)) return refuse(context, node, withoutToken);
    // issueToken notes those to which it gives one
    noteBootEvent(context, { nodeUuid: node.uuid }, { event: 'lookup' });
  }
  return answerAgent(context, node, request.version);
}

/**
 * The node that the asking machine is, if it is to boot the ramdisk now.
 * @throws AppError `not_found`, as of `lookupNode`
 */
export async function findBootingNode(
  context: Pick<EngineContext, 'db' | 'config' | 'log'>,
  request: Pick<LookupRequest, 'addresses' | 'nodeUuid'>,
): Promise<NodeRow> {
  const node = request.nodeUuid
    ? await findNode(context.db, request.nodeUuid)
    : await findByAddresses(context, request.addresses);
  // an instance that boots, still in `deploying`, is a stranger as well
  if (!node) throw notFound();
  if ((await readRequiredBoot(context.db, node)) !== 'ramdisk') return refuse(context, node, notToBoot);
  return node;
}

const notFound = (): AppError => new AppError('not_found', 'Resource could not be found.');

/** Reasons for which a lookup is refused, as people read them; the machine gets the same answer for each. */
const notToBoot = 'the node is not to boot the ramdisk now: the machine has booted it by itself, or twice.';
const withoutToken =
  "it lacks this boot's token, which iPXE or the boot medium gives: the ramdisk was booted otherwise, or a stranger asks.";

const withoutProof = 'its TPM has not proved what it has booted (attestation: require)';

/** Quotes the machine's own words, of printable characters only: anybody may have sent them. */
function describeProblem(problem: string | undefined): string {
  return problem === undefined ? '' : `: ${problem.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 200)}`;
}

/** Answers a machine whose TPM alone can read the answer, or whose medium has the boot's proof: with the token, as often as it asks. */
async function answerWithToken(
  context: Pick<EngineContext, 'db' | 'config' | 'clock' | 'secrets'>,
  node: NodeRow,
  version: number,
): Promise<AgentLookup> {
  const { config, ...answer } = await answerAgent(context, node, version);
  const session = await findAgentSession(context.db, node.uuid);
  if (!session) throw new AppError('internal', `node ${node.uuid} has lost this boot's token`, { retryable: true });
  return { ...answer, config: { ...config, agent_token: openAgentToken(context.secrets, session) } };
}

async function refuse(
  context: Pick<EngineContext, 'db' | 'config' | 'log'>,
  { uuid: nodeUuid }: NodeRow,
  reason: string,
): Promise<never> {
  await noteRefusal(context, { nodeUuid }, 'lookup', new AppError('forbidden', reason));
  throw notFound();
}

async function findByAddresses(
  context: Pick<EngineContext, 'db' | 'config' | 'log'>,
  addresses: readonly string[],
): Promise<NodeRow | undefined> {
  const [uuid, ...others] = await listNodesByAddresses(context.db, addresses);
  if (uuid === undefined) return undefined;
  if (others.length === 0) return findNode(context.db, uuid);
  // while none of them waits for a ramdisk, any stranger could write here
  for (const each of [uuid, ...others].slice(0, 10)) {
    const node = await findNode(context.db, each);
    if (node && (await readRequiredBoot(context.db, node)) === 'ramdisk') {
      await reportSharedAddresses(context, [uuid, ...others], addresses);
      break;
    }
  }
  return undefined;
}

/** Whether the machine has this boot's token from its CD or from iPXE, or must have: then nobody gets it by a lookup. */
function isTokenGiven(
  { config }: Pick<EngineContext, 'config'>,
  node: NodeRow,
  session: AgentSessionRow | undefined,
): boolean {
  if (attestationOf(config, node) === 'require') return true; // to the TPM alone, by `answerWithToken`
  return config.requireBootToken || bootsFromVirtualMedia(node) || (session?.bootMac ?? null) !== null;
}

function hasToken(
  { secrets }: Pick<EngineContext, 'secrets'>,
  session: AgentSessionRow | undefined,
  { addresses, bootToken }: LookupRequest,
): boolean {
  if (!session || bootToken === undefined) return false;
  const isSameCard = session.bootMac === null || addresses.includes(session.bootMac);
  return isSameCard && isSameSecret(bootToken, openAgentToken(secrets, session));
}

/** Whether the machine was booted from its virtual medium, whose path is secret, with the proof in the token's place. */
function showsProof(
  { secrets }: Pick<EngineContext, 'secrets'>,
  node: NodeRow,
  session: AgentSessionRow | undefined,
  shown: string | undefined,
): boolean {
  if (!session || shown === undefined || !bootsFromVirtualMedia(node)) return false;
  return isSameSecret(shown, bootProof(openAgentToken(secrets, session)));
}

/** Answers a ramdisk what it gets to know of the node that it runs on, with the boot's token the first time. */
export async function answerAgent(
  context: Pick<EngineContext, 'db' | 'config' | 'clock' | 'secrets'>,
  node: NodeRow,
  version: number,
): Promise<AgentLookup> {
  const { config } = context;
  const token = version >= tokenVersion ? await issueToken(context, node) : undefined;
  return {
    node: {
      uuid: node.uuid,
      properties: maskDocument(withSparedDisks(node.properties, node)),
      instance_info: {},
      driver_internal_info: { agent_secret_token: mask },
      links: ['v1/', ''].map((prefix, index) => ({
        href: `${config.publicUrl}/${prefix}nodes/${node.uuid}`,
        rel: index === 0 ? 'self' : 'bookmark',
      })),
    },
    config: {
      metrics: {
        backend: 'noop',
        prepend_host: false,
        prepend_uuid: false,
        prepend_host_reverse: true,
        global_prefix: null,
      },
      metrics_statsd: { statsd_host: 'localhost', statsd_port: 8125 },
      heartbeat_timeout: config.heartbeatTimeout,
      ...(token === undefined ? {} : { agent_token: token }),
      agent_token_required: true,
      agent_md5_checksum_enable: false,
      disable_deep_image_inspection: false,
      permitted_image_formats: imageFormats,
      enable_bios_bootloader_install: config.runImagePrograms,
      agent_skip_bmc_detect: false,
      baton: {
        progress_interval_ms: 1000,
        run_image_programs: config.runImagePrograms,
        image_neighbours: config.imageNeighbours,
        fetch_from: {
          allow: config.outbound.images.allow?.entries ?? null,
          allow_loopback: config.outbound.images.allowLoopback,
        },
      },
    },
  };
}

async function issueToken(
  context: Pick<EngineContext, 'db' | 'config' | 'clock' | 'secrets'>,
  node: NodeRow,
): Promise<string> {
  const known = await findAgentSession(context.db, node.uuid);
  if (isTokenGiven(context, node, known)) return mask;
  const token = randomBytes(32).toString('base64url');
  if (
    !(await insertAgentSession(context.db, node.uuid, context.secrets.seal(token, nodePlace(node.uuid, 'agent_token'))))
  ) {
    const session = await findAgentSession(context.db, node.uuid);
    // iPXE may have been given another meanwhile
    if (isTokenGiven(context, node, session)) return mask;
    // nobody has used it yet: the answer that carried it may have been lost on the way, and the agent asks again soon
    const age = context.clock.now().getTime() - (session?.createdAt.getTime() ?? 0);
    return session && !session.lastHeartbeatAt && age < repeatTokenMs ? openAgentToken(context.secrets, session) : mask;
  }
  const { conductorName: conductor } = context.config;
  await recordBootEvent(context.db, { nodeUuid: node.uuid }, { event: 'lookup', conductor });
  await addStrangersHistory(context.db, {
    nodeUuid: node.uuid,
    eventType: 'agent',
    event: 'ramdisk has looked itself up',
    conductor,
  });
  return token;
}
