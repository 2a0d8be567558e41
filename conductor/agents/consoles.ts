import type { WebSocket } from 'ws';
import type { AgentsConfig } from '#conductor/agents/context.ts';
import type { Bmc } from '#conductor/drivers/interfaces.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { SessionLocks } from '#conductor/kernel/db/session/session-locks.ts';
import { type OfRequest, requestIdsOf } from '#conductor/model/request-ids.ts';
import { addHistory } from '#conductor/nodes/node-history.ts';
import { interfaceOf, isSwitchedOff, supportedInterfaces } from '#conductor/nodes/node-interfaces.ts';
import { findNode } from '#conductor/nodes/node-store.ts';
import type { Clock } from '#shared/clock.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';
import { isLoopbackHost } from '#shared/peers/address-ranges.ts';
import { joinSocket } from '#shared/terminal/terminal.ts';
import { closeSocket, endConsole, keepAlive } from '#shared/web-socket/web-socket.ts';
import type { ConsoleQuery } from '#shared/wire/console.ts';

/**
 * Returns whether consoles are given out here at all; to whom, `conductor/auth/access-rules.ts` says: administrators. Where
 * nobody proves who they are everybody is one, so an API that others than this host's users may reach gives out root shells
 * only where the operator says so in full.
 * @throws AppError `forbidden` saying what would allow it
 */
export function requireConsoleAccess(config: Pick<AgentsConfig, 'console' | 'host'>): void {
  if (config.console === 'true' || (config.console === 'loopback' && isLoopbackHost(config.host))) return;
  const why =
    config.console === 'loopback'
      ? `BATON_CONSOLE=loopback, and the conductor listens on ${config.host}; BATON_CONSOLE=true allows it there too`
      : 'the setting BATON_CONSOLE does not allow it; loopback does when the conductor listens on a loopback address, ' +
        'true wherever it listens';
  throw new AppError('forbidden', `No consoles are given out: ${why}.`);
}

/** How long a step may have begun until the consoles opened before it are cut; milliseconds. */
const watchIntervalMs = 500;

/** How long a login that has ended keeps its console, at most; and the token is remembered for as long again. */
const permissionIntervalMs = 2_500;

/** At a time, on one conductor. */
const maxConsoles = 64;

/** The other end of an operator's console. */
export interface ConsoleSource {
  /** Why there is no more of it. */
  readonly ended: Promise<string>;
  join(operator: WebSocket): void;
  close(reason: string): void;
}

export interface ConsoleRequest extends OfRequest {
  readonly nodeUuid: string;
  readonly open: () => Promise<ConsoleSource>;
  /** The step amid which it is opened. */
  readonly during?: string | undefined;
  /** There is one of these at a time. */
  readonly onlyOne?: string;
  /** Why it has to end; `undefined` = it may stay. */
  readonly whyOver: () => Promise<string | undefined>;
  /** Name of the operator who wants it, as the history has it. */
  readonly by: string;
  readonly user: string | undefined;
  readonly project: string | undefined;
  /** Why they may have it no longer; `undefined` = they may. */
  readonly whyForbidden: () => Promise<string | undefined>;
}

/** The consoles that go through this conductor. */
export interface Consoles {
  /** @throws AppError `busy` when too many are open, `conflict` when the only one is */
  requireRoom(request: Pick<ConsoleRequest, 'open' | 'onlyOne'>): void;
  /** Joins an operator's WebSocket with the other end until either side or `whyOver` ends it; never rejects. */
  serve(socket: WebSocket, request: ConsoleRequest): Promise<void>;
  /** Ends all, and resolves when that is recorded. */
  close(): Promise<void>;
}

export function createConsoles(context: {
  readonly db: Queryable;
  readonly clock: Clock;
  readonly log: Log;
  readonly conductorName: string;
  /** Among all conductors. */
  readonly lock: SessionLocks['lock'];
}): Consoles {
  const open = new Map<WebSocket, Promise<void>>();
  const taken = new Map<string, string>();
  const requireRoom: Consoles['requireRoom'] = ({ onlyOne = '' }) => {
    if (open.size >= maxConsoles) throw new AppError('busy', `${maxConsoles} consoles are open on this conductor`);
    const by = taken.get(onlyOne);
    if (by !== undefined) throw new AppError('conflict', `The console is in use by ${by}.`);
  };
  return {
    requireRoom,
    serve: async (socket, request) => {
      const { onlyOne } = request;
      // another may have come while this one was upgraded
      if (onlyOne !== undefined && taken.has(onlyOne)) {
        endConsole(socket, { reason: `the console is in use by ${taken.get(onlyOne)}` }, 1013);
        return;
      }
      if (onlyOne !== undefined) taken.set(onlyOne, request.by);
      socket.on('error', (err) => context.log.warn({ err }, 'console connection failed')); // `close` follows
      socket.pause();
      const served = serveAlone(context, socket, request).catch((error: unknown) => {
        context.log.error({ node: request.nodeUuid, err: error }, 'console failed');
        endConsole(socket, { reason: errorChain(error) }, 1011);
      });
      open.set(socket, served);
      await served;
      open.delete(socket);
      if (onlyOne !== undefined) taken.delete(onlyOne);
    },
    close: async () => {
      for (const socket of open.keys()) endConsole(socket, { reason: 'the conductor stops' }, 1001);
      await Promise.all(open.values());
    },
  };
}

/** One that there is one of ends with its lock: with this conductor's connection to the database. */
async function serveAlone(
  context: Parameters<typeof createConsoles>[0],
  operator: WebSocket,
  request: ConsoleRequest,
): Promise<void> {
  if (request.onlyOne === undefined) return serveOne(context, operator, request);
  const lost = Promise.withResolvers<string>();
  const lock = context.lock(`serial console ${request.onlyOne}`, () => {
    const reason = 'the conductor lost its connection to the database, by which there is only one';
    lost.resolve(reason);
    endConsole(operator, { reason });
  });
  const open = async (): Promise<ConsoleSource> => {
    const other = await request.open();
    return {
      ended: Promise.race([other.ended, lost.promise]),
      join: (socket) => other.join(socket),
      close: (reason) => other.close(reason),
    };
  };
  try {
    if (await lock.take()) await serveOne(context, operator, { ...request, open });
    else endConsole(operator, { reason: 'the console is in use through another conductor' }, 1013);
  } finally {
    await lock.release();
  }
}

async function serveOne(
  context: Parameters<typeof createConsoles>[0],
  operator: WebSocket,
  request: ConsoleRequest,
): Promise<void> {
  const { nodeUuid, by, user, project } = request;
  const ids = requestIdsOf(request);
  const { db, clock, log } = context;
  const hasLeft = closing(operator, 'the connection to the operator was lost');
  const other = await request.open();
  const record = (event: string): Promise<void> =>
    addHistory(db, { nodeUuid, eventType: 'console', event, conductor: context.conductorName, user, project, ...ids });
  const startedAt = clock.now().getTime();
  const during = request.during === undefined ? '' : ` during ${request.during}`;
  let reason = '';
  let overBecause: string | undefined;
  try {
    // before anything can be typed: what was done on the machine must not be without an entry
    await record(`${request.onlyOne === undefined ? '' : 'serial '}console opened by ${by}${during}`);
    log.info({ node: nodeUuid, by }, 'console opened');
    keepAlive(operator);
    other.join(operator);
    const watch = watchRequest(request, log, (why) => {
      overBecause = why;
      endConsole(operator, { reason: why });
    });
    if (operator.readyState === operator.OPEN) operator.resume();
    const ended = await Promise.race([hasLeft, other.ended]);
    clearInterval(watch);
    reason = overBecause ?? ended;
  } catch (error) {
    reason = errorChain(error);
    throw error;
  } finally {
    other.close(reason);
    closeSocket(operator, 1000, reason);
    const seconds = Math.round((clock.now().getTime() - startedAt) / 1000);
    await record(`console of ${by} closed after ${seconds} s: ${reason}`);
    log.info({ node: nodeUuid, by, seconds, reason }, 'console closed');
  }
}

/** Asks the database, for another conductor may be running the flow. */
function watchRequest(
  { nodeUuid, whyOver, whyForbidden }: ConsoleRequest,
  log: Log,
  onOver: (why: string) => void,
): NodeJS.Timeout {
  let isAsking = false;
  let looks = 0;
  const look = async (): Promise<void> => {
    looks += 1;
    const isTurn = looks % (permissionIntervalMs / watchIntervalMs) === 0;
    const why = (await whyOver()) ?? (isTurn ? await whyForbidden() : undefined);
    if (why !== undefined) onOver(why);
  };
  return setInterval(() => {
    if (isAsking) return;
    isAsking = true;
    look()
      .catch((err: unknown) => {
        log.error({ node: nodeUuid, err }, 'flow of an open console not read');
        onOver('the conductor no longer knows the state of the flow');
      })
      .finally(() => {
        isAsking = false;
      });
  }, watchIntervalMs);
}

/** Resolves with what the closing side said. */
function closing(socket: WebSocket, otherwise: string): Promise<string> {
  return new Promise((resolve) => {
    if (socket.readyState === socket.CLOSED) resolve(otherwise);
    else socket.once('close', (_code, reason) => resolve(reason.toString() || otherwise));
  });
}

/**
 * Returns the machine's own serial console by its BMC, while it is enabled. Nothing of it outlives its WebSocket, so a
 * conductor that dies leaves only a connection that the BMC ends when the next one is opened.
 * @throws AppError `conflict` while it is disabled, `not_supported`
 */
export function serialConsole(
  { db, connect }: { readonly db: Queryable; readonly connect: () => Bmc },
  node: NodeRow,
  query: ConsoleQuery,
): Pick<ConsoleRequest, 'open' | 'whyOver' | 'onlyOne'> {
  requireSerialConsole(node);
  if (!node.consoleEnabled) {
    throw new AppError('conflict', `The console of node ${node.uuid} is disabled: PUT …/states/console enables it.`);
  }
  return {
    onlyOne: node.uuid,
    open: async () => {
      const { console: offered } = connect();
      if (!offered) throw new AppError('not_supported', `driver ${node.driver} has no serial console`);
      const line = await offered.open(query);
      return {
        ended: line.ended,
        join: (operator) => {
          joinSocket(line, operator);
          void line.ended.then((reason) => endConsole(operator, { reason }));
        },
        close: () => line.hangUp(),
      } satisfies ConsoleSource;
    },
    whyOver: async () => {
      const now = await findNode(db, node.uuid);
      return now?.consoleEnabled ? undefined : 'the console was disabled';
    },
  };
}

/** @throws AppError `invalid_argument` for a node whose console interface is none */
export function requireSerialConsole(node: NodeRow): void {
  if (!isSwitchedOff(node, 'console')) return;
  const names = supportedInterfaces(node.driver, 'console').filter((name) => name !== interfaceOf(node, 'console'));
  const choice = names.length > 0 ? `set it to ${names.join(' or ')}` : `driver ${node.driver} has no other`;
  throw new AppError(
    'invalid_argument',
    `Node ${node.uuid} has console_interface 'no-console', so it has no serial console; ${choice}.`,
  );
}
