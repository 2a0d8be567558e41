import { createConnection, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { AppError } from '#shared/errors/app-error.ts';
import { waitUntil } from '#test/lab/wait-until.ts';

/** A QEMU Machine Protocol event: `{name: 'SHUTDOWN', data: {guest: true, reason: 'guest-reset'}}`. */
export interface QmpEvent {
  readonly name: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface QmpConnection {
  /** @throws AppError `command_failed` with QEMU's description. */
  readonly execute: (command: string, args?: Readonly<Record<string, unknown>>) => Promise<unknown>;
  close(): void;
}

interface QmpMessage {
  readonly QMP?: unknown;
  readonly id?: number;
  readonly return?: unknown;
  readonly error?: { readonly desc: string };
  readonly event?: string;
  readonly data?: Record<string, unknown>;
}

/** Connects to QEMU's QMP socket, which it makes shortly after its start. */
export async function connectQmp(path: string, onEvent: (event: QmpEvent) => void): Promise<QmpConnection> {
  const socket = await waitUntil('the QMP socket', () => open(path), { everyMs: 50 });
  const pending = new Map<number, (message: QmpMessage) => void>();
  let nextId = 1;
  const lost = (): void => {
    for (const settle of pending.values()) settle({ error: { desc: 'the connection was closed' } });
    pending.clear();
  };
  socket.on('error', lost);
  socket.on('close', lost);
  const lines = createInterface({ input: socket });
  // it hands on the socket's errors as its own: a QEMU that is killed resets the connection
  lines.on('error', lost);
  lines.on('line', (line) => {
    const message = JSON.parse(line) as QmpMessage;
    if (message.event !== undefined) onEvent({ name: message.event, data: message.data ?? {} });
    if (message.id === undefined) return;
    pending.get(message.id)?.(message);
    pending.delete(message.id);
  });
  const execute: QmpConnection['execute'] = (command, args) =>
    new Promise((resolve, reject) => {
      const id = nextId++;
      pending.set(id, (message) => {
        if (message.error) reject(new AppError('command_failed', `QMP ${command}: ${message.error.desc}`));
        else resolve(message.return);
      });
      const request = JSON.stringify({ execute: command, ...(args ? { arguments: args } : {}), id });
      // a QEMU that has just ended has closed the socket already: no other event comes
      socket.write(`${request}\n`, (error) => error && lost());
    });
  await execute('qmp_capabilities');
  return { execute, close: () => socket.destroy() };
}

function open(path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = createConnection(path);
    socket.once('connect', () => resolve(socket));
    socket.once('error', reject);
  });
}
