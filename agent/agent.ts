import { hostname } from 'node:os';
import { callbackUrl, findAdvertisedAddress } from '#agent/advertised-address.ts';
import { type ApiClient, createApiClient } from '#agent/api/api-client.ts';
import { faultText } from '#agent/api/fault-text.ts';
import { microversions } from '#agent/api/microversion.ts';
import type { CommandServices } from '#agent/commands/command.ts';
import { CommandRunner } from '#agent/commands/command-runner.ts';
import { commandTable } from '#agent/commands/command-table.ts';
import type { AgentConfig } from '#agent/config.ts';
import { activateHardware } from '#agent/hardware/active-hardware.ts';
import type { HardwareManager } from '#agent/hardware/hardware-manager.ts';
import { listPhysicalInterfaces } from '#agent/hardware/network-interfaces.ts';
import { sendHeartbeat } from '#agent/heartbeat.ts';
import { createHeartbeatLoop } from '#agent/heartbeat-loop.ts';
import { createApp } from '#agent/http/app.ts';
import { startServer } from '#agent/http/server.ts';
import { type FoundNode, lookup, lookupOnce } from '#agent/lookup.ts';
import { createProgressReporter, type ProgressReporter } from '#agent/progress.ts';
import type { Random } from '#agent/random-backoff.ts';
import { readSavedIdentity, type SavedIdentity, saveIdentity } from '#agent/saved-identity.ts';
import type { Say } from '#agent/say.ts';
import { createServerCertificate, type ServerCertificate } from '#agent/tls.ts';
import type { Clock } from '#shared/clock.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';
import type { Run } from '#shared/process/run.ts';
import type { ProgressReport } from '#shared/wire/progress.ts';

/** What the agent gets from the process around it. */
export interface AgentDependencies {
  readonly run: Run;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly say: Say;
  readonly recentLog: () => string;
  readonly hardwareManagers: readonly HardwareManager[];
  /** Stops the agent. */
  readonly signal: AbortSignal;
}

/** What the latest lookup told; a fresh lookup replaces it while the server runs. */
interface Session {
  node: FoundNode;
}

/** The agent's life: look up, serve, beat, until the signal aborts. @throws AppError when it can't begin */
export async function runAgent(config: AgentConfig, dependencies: AgentDependencies): Promise<void> {
  const { clock, log, signal } = dependencies;
  if (config.hardwareDelayMs > 0) await clock.sleep(config.hardwareDelayMs, signal);
  const api = createApiClient({ ...config, urls: config.apiUrls, log });
  try {
    await runOn(api, config, dependencies);
  } finally {
    await api.close();
  }
}

async function runOn(api: ApiClient, config: AgentConfig, dependencies: AgentDependencies): Promise<void> {
  const { clock, log, run, say, signal } = dependencies;
  const hardware = await activateHardware(dependencies.hardwareManagers);
  const saved = await readSavedIdentity(config.stateDir, log);
  const looking = lookupDependencies(api, config, dependencies, saved);
  const session: Session = { node: await lookup(looking, config.lookup) };
  say(`this machine is node ${session.node.uuid}`);
  log.info({ node: session.node.uuid, baton: session.node.baton !== undefined }, 'node found');

  const address = await advertisedAddress(api, config, dependencies);
  const certificate = chooseCertificate(config, session.node, address, saved, clock);
  if (certificate) {
    await saveIdentity(config.stateDir, savedFrom(session.node, address, certificate));
  }
  const locked = new AbortController();
  const life = AbortSignal.any([signal, locked.signal]);
  const progress = createProgressReporter({
    intervalMs: () => session.node.baton?.progressIntervalMs,
    send: (commandId, report) => sendProgress(api, session.node, commandId, report),
    clock,
    log,
    signal: life,
  });
  const services: CommandServices = {
    ...commandServices(dependencies, session, progress),
    hardware,
    signal: life,
    lockdown: () => locked.abort(new AppError('aborted', 'the agent was locked down')),
  };
  const commands = new CommandRunner(commandTable, services, (id) => {
    progress.end(id);
    beats.nudge();
  });
  const app = createApp({ commands, token: () => session.node.token, startedAt: clock.now(), log });
  const server = await startServer(app, config.listen, certificate && { ...certificate, ...config.tls });
  const url = callbackUrl(
    config.advertise.protocol ?? (certificate ? 'https' : 'http'),
    address,
    config.advertise.port ?? server.port,
  );
  say(`listening on ${url}`);
  log.info({ url }, 'listening');
  const beats = createHeartbeatLoop({
    beat: () => beat(api, session, { callbackUrl: url, certificatePem: certificate?.certificatePem }, looking),
    timeoutMs: () => session.node.heartbeatTimeoutMs,
    isEager: () => session.node.baton !== undefined,
    clock,
    random: dependencies.random,
    signal: life,
  });
  await beats.run();
  await server.close();
  if (locked.signal.aborted) await stayLockedDown(run, say, signal);
}

type Looking = Parameters<typeof lookup>[0];

function lookupDependencies(
  api: ApiClient,
  config: AgentConfig,
  dependencies: AgentDependencies,
  saved: SavedIdentity | undefined,
): Looking {
  return {
    ...dependencies,
    api,
    addresses: async () => config.addresses ?? (await listPhysicalInterfaces()).map(({ macAddress }) => macAddress),
    ownToken: (uuid) => config.agentToken ?? (saved?.node_uuid === uuid ? saved.token : undefined),
  };
}

function advertisedAddress(api: ApiClient, config: AgentConfig, dependencies: AgentDependencies): Promise<string> {
  if (config.advertise.host !== undefined) return Promise.resolve(config.advertise.host);
  return findAdvertisedAddress({
    ...config.advertise,
    interfaceName: config.advertise.interface,
    apiUrl: () => api.currentUrl(),
    clock: dependencies.clock,
    signal: dependencies.signal,
  });
}

/** The certificate to serve with: that of an earlier process of this boot if it still fits; none for an old API. */
function chooseCertificate(
  config: AgentConfig,
  node: FoundNode,
  address: string,
  saved: SavedIdentity | undefined,
  clock: Clock,
): ServerCertificate | undefined {
  if (node.apiVersion < microversions.agentVerifyCa || config.advertise.protocol === 'http') return undefined;
  if (saved?.node_uuid === node.uuid && saved.address === address && saved.token === node.token) {
    return { certificatePem: saved.certificate_pem, keyPem: saved.key_pem };
  }
  return createServerCertificate({ address, hostName: hostname(), now: clock.now(), curve: config.tls.curve });
}

function savedFrom(node: FoundNode, address: string, certificate: ServerCertificate): SavedIdentity {
  return {
    node_uuid: node.uuid,
    ...(node.token === undefined ? {} : { token: node.token }),
    address,
    certificate_pem: certificate.certificatePem,
    key_pem: certificate.keyPem,
  };
}

function commandServices(
  dependencies: AgentDependencies,
  session: Session,
  progress: ProgressReporter,
): Omit<CommandServices, 'hardware' | 'signal' | 'lockdown'> {
  return {
    run: dependencies.run,
    clock: dependencies.clock,
    log: dependencies.log,
    say: dependencies.say,
    recentLog: dependencies.recentLog,
    node: () => ({
      uuid: session.node.uuid,
      properties: session.node.properties,
      instance_info: session.node.instanceInfo,
      driver_internal_info: session.node.driverInternalInfo,
    }),
    reportProgress: (id) => progress.forCommand(id),
    partitionUuids: { current: {} },
  };
}

async function sendProgress(
  api: ApiClient,
  node: FoundNode,
  commandId: string,
  progress: ProgressReport['progress'],
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

/** One beat; whether it was accepted. A refused token is looked up afresh where the conductor gives out new ones. */
async function beat(
  api: ApiClient,
  session: Session,
  announced: Parameters<typeof sendHeartbeat>[2],
  looking: Looking,
): Promise<boolean> {
  const { log, say, signal } = looking;
  try {
    await sendHeartbeat(api, session.node, announced);
    log.debug({ node: session.node.uuid }, 'heartbeat accepted');
    return true;
  } catch (error) {
    if (signal.aborted) return false;
    log.warn({ err: error }, 'heartbeat failed');
    say(`heartbeat failed: ${errorChain(error)}`);
    if (error instanceof AppError && error.code === 'unauthorized') await renewSession(session, looking);
    return false;
  }
}

async function renewSession(session: Session, looking: Looking): Promise<void> {
  if (session.node.baton === undefined) {
    looking.log.error('the conductor refuses our token: only a reboot by the conductor can mend that; trying on');
    return;
  }
  try {
    session.node = await lookupOnce(looking);
    looking.say(`looked up afresh: node ${session.node.uuid}`);
  } catch (error) {
    looking.log.error({ err: error }, 'fresh lookup failed');
    looking.say(`fresh lookup failed: ${errorChain(error)}`);
  }
}

/** Nothing reaches the machine any more; the process stays, so that init doesn't start another. */
async function stayLockedDown(run: Run, say: Say, signal: AbortSignal): Promise<void> {
  for (const { name } of await listPhysicalInterfaces()) await run('ip', ['link', 'set', 'dev', name, 'down']);
  say('locked down: not serving, network links are down');
  if (signal.aborted) return;
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
}
