import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { callbackUrl, findAdvertisedAddress } from '#agent/advertised-address.ts';
import { type AgentInventory, openInventory } from '#agent/agent-inventory.ts';
import { type ApiClient, createApiClient } from '#agent/api/api-client.ts';
import { microversions } from '#agent/api/microversion.ts';
import { createAttester } from '#agent/attest.ts';
import type { CommandServices } from '#agent/commands/command.ts';
import { CommandRunner } from '#agent/commands/command-runner.ts';
import { type CommandTable, commandTable } from '#agent/commands/command-table.ts';
import type { AgentConfig } from '#agent/config.ts';
import { activateHardware } from '#agent/hardware/active-hardware.ts';
import type { HardwareManager } from '#agent/hardware/hardware-manager.ts';
import { createHeartbeatLoop } from '#agent/heartbeat.ts';
import { createApp } from '#agent/http/app.ts';
import { createSharing } from '#agent/image/neighbours/share.ts';
import { inspect } from '#agent/inspection/inspect.ts';
import { type FoundNode, type LookupDependencies, lookup } from '#agent/lookup.ts';
import { listPhysicalInterfaces } from '#agent/machine/network-interfaces.ts';
import { createProgressReporter } from '#agent/progress.ts';
import type { Say } from '#agent/say.ts';
import { startServer } from '#agent/serve/server.ts';
import {
  askForNeighbours,
  beat,
  readSavedIdentity,
  type SavedIdentity,
  type Session,
  saveIdentity,
  sendProgress,
  sessionNode,
} from '#agent/session.ts';
import { raiseClock, readKernelDate, setClock } from '#agent/set-clock.ts';
import { createServerCertificate, type ServerCertificate } from '#agent/tls.ts';
import { type OpenTpm, withoutTpm } from '#agent/tpm/open-tpm.ts';
import type { Clock } from '#shared/clock.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';
import type { Run } from '#shared/process/run.ts';
import type { Random } from '#shared/retry.ts';
import type { OpenTerminal } from '#shared/terminal/terminal.ts';

/** Dependencies that the agent gets from the process around it. */
export interface AgentDependencies {
  readonly run: Run;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly say: Say;
  readonly recentLog: () => string;
  readonly hardwareManagers: readonly HardwareManager[];
  /** Hardware managers that could not be loaded: commands that list steps fail with these texts. */
  readonly hardwareProblems?: readonly string[];
  /** Where there is none, there is no console. */
  readonly openTerminal?: OpenTerminal;
  /** Another machine than this one, in simulators. */
  readonly openInventory?: typeof openInventory;
  /** Absent: a machine without TPM. */
  readonly openTpm?: OpenTpm;
  readonly commands?: CommandTable;
  /** Stops the agent. */
  readonly signal: AbortSignal;
}

/** The agent's life: look up, serve, beat, until the signal aborts. @throws AppError when it can't begin */
export async function runAgent(config: AgentConfig, dependencies: AgentDependencies): Promise<void> {
  const { clock, log, signal } = dependencies;
  if (config.hardwareDelayMs > 0) await clock.sleep(config.hardwareDelayMs, signal);
  if (config.setClock) {
    const built = readKernelDate(await readFile('/proc/version', 'utf8'));
    await raiseClock(built, dependencies, 'the kernel, which was built then');
  }
  const now = (): Date => clock.now();
  const api = createApiClient({
    ...config,
    urls: config.apiUrls,
    log,
    now,
    raiseClock: clockRaiser(config, dependencies),
  });
  try {
    await inspectAndServe(api, config, dependencies);
  } finally {
    await api.close();
  }
}

function clockRaiser(
  config: AgentConfig,
  dependencies: AgentDependencies,
): ((time: Date) => Promise<void>) | undefined {
  if (!config.setClock) return undefined;
  const by = 'the API, whose certificate could not be checked by the old time';
  return (time) => raiseClock(time, dependencies, by);
}

async function inspectAndServe(api: ApiClient, config: AgentConfig, dependencies: AgentDependencies): Promise<void> {
  const { say, signal } = dependencies;
  const inventory = (dependencies.openInventory ?? openInventory)(config, dependencies);
  try {
    if (config.inspection) {
      const raise = clockRaiser(config, dependencies);
      const target = { ...config, ...dependencies, url: config.inspection.callbackUrl, raiseClock: raise };
      await inspect(config.inspection, target, { ...dependencies, inventory: () => inventory.read() });
    }
    if (config.apiUrls.length > 0) return await lookUpAndServe(api, config, { ...dependencies, inventory });
    say('no ipa-api-url: there is nothing more to do');
    if (!signal.aborted) await once(signal, 'abort');
  } finally {
    await inventory.close();
  }
}

/** With the inventory of this run. */
type ServingDependencies = AgentDependencies & { readonly inventory: AgentInventory };

async function lookUpAndServe(api: ApiClient, config: AgentConfig, dependencies: ServingDependencies): Promise<void> {
  const { log, say } = dependencies;
  const saved = await readSavedIdentity(config.stateDir, log);
  const looking: LookupDependencies = {
    ...dependencies,
    api,
    attester: createAttester(dependencies.openTpm ?? withoutTpm, dependencies),
    addresses: async () => config.addresses ?? (await listPhysicalInterfaces()).map(({ macAddress }) => macAddress),
    bootToken: config.agentToken,
    ownToken: (uuid) => config.agentToken ?? (saved?.node_uuid === uuid ? saved.token : undefined),
  };
  const session: Session = { node: await lookup(looking, config.lookup), accepted: undefined };
  say(`this machine is node ${session.node.uuid}`);
  log.info({ node: session.node.uuid, baton: session.node.baton !== undefined }, 'node found');
  if (config.setClock) await setClock(api.clockErrorMs(), dependencies);

  const address = await advertisedAddress(api, config, dependencies);
  const certificate = chooseCertificate(config, session.node, address, saved);
  const save = async (): Promise<void> => {
    await saveIdentity(config.stateDir, toSaved(session.node, address, certificate));
  };
  await save();
  await serve({ config, dependencies, looking, session, address, certificate, save });
}

/** Serves and beats until the agent is stopped or locked down. */
async function serve(parts: {
  readonly config: AgentConfig;
  readonly dependencies: ServingDependencies;
  readonly looking: LookupDependencies;
  readonly session: Session;
  readonly address: string;
  readonly certificate: ServerCertificate | undefined;
  readonly save: () => Promise<void>;
}): Promise<void> {
  const { config, dependencies, session, certificate } = parts;
  const { clock, log, run, say, signal } = dependencies;
  const locked = new AbortController();
  const aside = new AbortController();
  const life = AbortSignal.any([signal, locked.signal, aside.signal]);
  const looking = { ...parts.looking, signal: life };
  const progress = createProgressReporter({
    intervalMs: () => session.node.baton?.progressIntervalMs,
    send: (commandId, report) => sendProgress(looking.api, session, commandId, report),
    clock,
    log,
    signal: life,
  });
  const sharing =
    certificate &&
    createSharing({
      ask: (request) => askForNeighbours(looking.api, session, request),
      certificate: { ...certificate, ...config.tls },
      host: config.listen.host,
      // 10000, unless configured otherwise
      port: config.listen.port === 0 ? 0 : config.listen.port + 1,
      clock,
      log,
      signal: life,
    });
  const services: CommandServices = {
    ...dependencies,
    run: (command, args, options) => run(command, args, { signal: life, ...options }),
    signal: life,
    hardware: await activateHardware(dependencies.hardwareManagers),
    bootMac: config.bootMac,
    inventory: () => dependencies.inventory.read(),
    heardLldp: () => dependencies.inventory.heardLldp(),
    quote: (nonce) => looking.attester.quote(nonce, life),
    node: () => sessionNode(session),
    imagePolicy: () => session.node.imagePolicy,
    shareImage: () => (session.node.baton?.imageNeighbours ? sharing?.share : undefined),
    reportProgress: (id) => progress.forCommand(id),
    writtenImage: { current: undefined },
    lockdown: () => locked.abort(new AppError('aborted', 'the agent was locked down')),
    standAside: () => aside.abort(new AppError('aborted', 'the machine is under rescue')),
  };
  const commands = new CommandRunner(dependencies.commands ?? commandTable, services, (id) => {
    progress.end(id);
    beats.nudge();
  });
  const { openTerminal } = dependencies;
  const app = createApp({
    commands,
    token: () => session.node.token,
    startedAt: clock.now(),
    log,
    // over plain http anybody on the way could read the token, and with it be root
    console: certificate && openTerminal && { openTerminal, log, say, signal: life },
  });
  const server = await startServer(app, config.listen, certificate && { ...certificate, ...config.tls });
  const { protocol = certificate ? 'https' : 'http', port = server.port } = config.advertise;
  const url = callbackUrl(protocol, parts.address, port);
  say(`listening on ${url}`);
  log.info({ url }, 'listening');
  const announced = { callbackUrl: url, certificatePem: certificate?.certificatePem };
  const beats = createHeartbeatLoop({
    beat: () => beat(session, announced, looking, parts.save),
    timeoutMs: () => session.node.heartbeatTimeoutMs,
    isEager: () => session.node.baton !== undefined,
    clock,
    random: dependencies.random,
    signal: life,
  });
  await beats.run();
  await Promise.all([server.close(), sharing?.close(), waitForCommands(commands, clock, log)]);
  if (locked.signal.aborted) await lockDown(run, say, signal);
}

/** For what a command had started to die of its signal: it would go on writing to a disk without us. */
const stopGraceMs = 5000;

async function waitForCommands(commands: CommandRunner, clock: Clock, log: Log): Promise<void> {
  const waited = new AbortController();
  const isIdle = commands.idle().then(() => true);
  const isLate = clock.sleep(stopGraceMs, waited.signal).then(
    () => false,
    () => true,
  );
  if (!(await Promise.race([isIdle, isLate]))) log.warn({ stopGraceMs }, 'a command did not stop');
  waited.abort();
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
): ServerCertificate | undefined {
  if (node.apiVersion < microversions.agentVerifyCa || config.advertise.protocol === 'http') return undefined;
  const isSame = saved?.node_uuid === node.uuid && saved.address === address && saved.token === node.token;
  if (isSame && saved.certificate_pem !== undefined && saved.key_pem !== undefined) {
    return { certificatePem: saved.certificate_pem, keyPem: saved.key_pem };
  }
  return createServerCertificate({ address, hostName: hostname(), curve: config.tls.curve });
}

function toSaved(node: FoundNode, address: string, certificate: ServerCertificate | undefined): SavedIdentity {
  return {
    node_uuid: node.uuid,
    ...(node.token === undefined ? {} : { token: node.token }),
    address,
    ...(certificate ? { certificate_pem: certificate.certificatePem, key_pem: certificate.keyPem } : {}),
  };
}

/**
 * Takes the network links down and stays until the signal aborts: nothing reaches the machine any more, and init must
 * not start another agent.
 */
async function lockDown(run: Run, say: Say, signal: AbortSignal): Promise<void> {
  for (const { name } of await listPhysicalInterfaces()) await run('ip', ['link', 'set', 'dev', name, 'down']);
  say('locked down: not serving, network links are down');
  if (signal.aborted) return;
  await new Promise((resolve) => {
    signal.addEventListener('abort', resolve, { once: true });
  });
}
