import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { ApiClient } from '#agent/api/api-client.ts';
import { faultText } from '#agent/api/fault-text.ts';
import { microversions } from '#agent/api/microversion.ts';
import type { CommandNode } from '#agent/context.ts';
import { sendHeartbeat } from '#agent/heartbeat.ts';
import { type FoundNode, type LookupDependencies, lookupOnce } from '#agent/lookup.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';
import { NeighboursAnswer, type NeighboursRequest } from '#shared/wire/neighbours.ts';
import type { Progress, ProgressReport } from '#shared/wire/progress.ts';

/** Answer of the latest lookup: a fresh one replaces it while the server runs. */
export interface Session {
  node: FoundNode;
  /** How the last heartbeat went, so that only changes are reported on the console; `undefined` before the first. */
  accepted: boolean | undefined;
}

/** The node in the form that commands have it. */
export function sessionNode({ node }: Session): CommandNode {
  return {
    uuid: node.uuid,
    properties: node.properties,
    instance_info: node.instanceInfo,
    driver_internal_info: node.driverInternalInfo,
  };
}

/**
 * One heartbeat; whether it was accepted. Never rejects. A refused token is looked up afresh where the conductor gives
 * out new ones, and the beat repeated once.
 */
export async function beat(
  session: Session,
  announced: Parameters<typeof sendHeartbeat>[2],
  looking: LookupDependencies,
  onRenewed: () => Promise<void>,
): Promise<boolean> {
  try {
    try {
      await sendHeartbeat(looking.api, session.node, announced);
    } catch (error) {
      if (!(error instanceof AppError && error.code === 'unauthorized')) throw error;
      await renew(session, looking, error);
      await onRenewed();
      await sendHeartbeat(looking.api, session.node, announced);
    }
    looking.log.debug({ node: session.node.uuid }, 'heartbeat accepted');
    if (session.accepted !== true) looking.say(`heartbeat accepted by ${looking.api.currentUrl()}`);
    session.accepted = true;
  } catch (error) {
    if (looking.signal.aborted) return false;
    looking.log.warn({ err: error }, 'heartbeat failed');
    if (session.accepted !== false) looking.say(`heartbeat failed: ${errorChain(error)}`);
    session.accepted = false;
  }
  return session.accepted;
}

/** Ironic never gives out a second token in a boot, Baton may: only there a fresh lookup makes sense. */
async function renew(session: Session, looking: LookupDependencies, refusal: AppError): Promise<void> {
  if (session.node.baton === undefined) {
    looking.log.error('the conductor refuses our token; only a reboot by the conductor mends that, trying on');
    throw refusal;
  }
  looking.log.warn({ err: refusal }, 'token refused, looking up afresh');
  looking.say(`${errorChain(refusal)}; looking up afresh`);
  session.node = await lookupOnce(looking);
}

/** @throws AppError `unavailable` or `agent_error` */
export async function sendProgress(
  api: ApiClient,
  { node }: Session,
  commandId: string,
  progress: Progress,
): Promise<void> {
  if (node.token === undefined) return;
  const body: ProgressReport = { agent_token: node.token, command_id: commandId, progress };
  const answer = await api.request({
    method: 'POST',
    path: `/v1/progress/${node.uuid}`,
    version: Math.min(node.apiVersion, microversions.heartbeat),
    body,
  });
  if (answer.status >= 300) throw new AppError('agent_error', `the conductor refused progress: ${faultText(answer)}`);
}

/**
 * Asks who deploys the same image. @throws AppError `unavailable`, or `forbidden` when the conductor refuses the list
 */
export async function askForNeighbours(
  api: ApiClient,
  { node }: Session,
  request: Omit<NeighboursRequest, 'agent_token'>,
): Promise<NeighboursAnswer> {
  const body: NeighboursRequest = { ...request, agent_token: node.token ?? '' };
  const answer = await api.request({
    method: 'POST',
    path: `/v1/neighbours/${node.uuid}`,
    version: Math.min(node.apiVersion, microversions.heartbeat),
    body,
  });
  if (answer.status >= 500) throw new AppError('unavailable', `the conductor has no neighbours: ${faultText(answer)}`);
  if (answer.status !== 200) throw new AppError('forbidden', `the conductor lists no neighbours: ${faultText(answer)}`);
  return NeighboursAnswer.parse(answer.body);
}

/**
 * Token and certificate of this boot. The conductor gives the token out once and refuses another certificate while
 * one is on file (agent-protocol.md §3), so an agent process that is started again after a crash needs the old ones.
 * Kept in memory (a tmpfs): a reboot must forget them, as the conductor does.
 */
const SavedIdentity = z.object({
  node_uuid: z.string(),
  token: z.string().optional(),
  address: z.string(),
  /** None where the agent serves plain HTTP. */
  certificate_pem: z.string().optional(),
  key_pem: z.string().optional(),
});
export type SavedIdentity = z.infer<typeof SavedIdentity>;

const fileName = 'identity.json';

/** Reads what an earlier process of this boot saved; `undefined` when there is nothing usable. */
export async function readSavedIdentity(directory: string, log: Log): Promise<SavedIdentity | undefined> {
  try {
    return SavedIdentity.parse(JSON.parse(await readFile(join(directory, fileName), 'utf8')));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') {
      log.warn({ err: error, directory }, 'saved identity is unreadable, starting afresh');
    }
    return undefined;
  }
}

/** @throws AppError `internal` when the directory can't be written */
export async function saveIdentity(directory: string, identity: SavedIdentity): Promise<void> {
  const path = join(directory, fileName);
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    await writeFile(`${path}.new`, JSON.stringify(identity), { mode: 0o600 });
    await rename(`${path}.new`, path);
  } catch (cause) {
    throw new AppError('internal', `save the agent's identity as ${path}`, { cause });
  }
}
