import type { ConsoleRequest, ConsoleSource } from '#conductor/agents/console/consoles.ts';
import type { Bmc } from '#conductor/drivers/interfaces.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { interfaceOf, isSwitchedOff, supportedInterfaces } from '#conductor/nodes/node-interfaces.ts';
import { findNode } from '#conductor/nodes/node-store.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { joinSocket } from '#shared/terminal/join-socket.ts';
import { endConsole } from '#shared/web-socket/close-socket.ts';
import type { ConsoleQuery } from '#shared/wire/console.ts';

/**
 * The machine's own serial console by its BMC, while it is enabled. Nothing of it outlives its WebSocket, so a conductor
 * that dies leaves no more than a connection that the BMC is told to end when the next one is opened.
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
