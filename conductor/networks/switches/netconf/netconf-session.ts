import type { ClientChannel } from 'ssh2';
import type { SwitchAccess } from '#conductor/networks/switch-driver.ts';
import {
  commandTimeoutMs,
  maximumOutputBytes,
  shortenAnswer,
} from '#conductor/networks/switches/command-line/command-line.ts';
import { openSsh, type SshClient } from '#conductor/networks/switches/command-line/ssh-client.ts';
import { createUnframer, frame } from '#conductor/networks/switches/netconf/framing.ts';
import { elementsAt, parseXml, textAt, type XmlElement } from '#conductor/networks/switches/netconf/xml.ts';
import { AppError } from '#shared/errors/app-error.ts';

const base = 'urn:ietf:params:xml:ns:netconf:base:1.0';
const versions = ['urn:ietf:params:netconf:base:1.0', 'urn:ietf:params:netconf:base:1.1'] as const;

/** NETCONF over SSH (RFC 6241, RFC 6242): one request at a time. */
export interface NetconfSession {
  /** Capabilities as the server's hello has them. */
  readonly capabilities: readonly string[];
  /**
   * Sends the operation and answers its `rpc-reply`.
   * @throws AppError `switch_error` with the server's words, `busy` for a lock that another has (both leave the session
   * open), `timeout`, `unavailable`, `aborted`
   */
  request(operation: string, signal?: AbortSignal): Promise<XmlElement>;
  isClosed(): boolean;
  close(): void;
}

export async function openNetconf(access: SwitchAccess, signal: AbortSignal | undefined): Promise<NetconfSession> {
  const { endpoint } = access;
  const ssh = await openSsh(access, signal);
  try {
    const messages = receive(ssh, await openChannel(ssh, endpoint), endpoint);
    const hello = versions.map((version) => `<capability>${version}</capability>`).join('');
    messages.send(`<hello xmlns="${base}"><capabilities>${hello}</capabilities></hello>`);
    const greeting = parseXml(await messages.next('its hello', signal));
    const capabilities = elementsAt(greeting, 'capabilities', 'capability').map(({ text }) => text);
    if (greeting.name !== 'hello' || !versions.some((version) => capabilities.includes(version))) {
      throw new AppError('switch_error', `switch ${endpoint} speaks no NETCONF that is known here`);
    }
    if (capabilities.includes(versions[1])) messages.useChunks();
    let id = 0;
    return {
      capabilities,
      request: async (operation, stop) => {
        id += 1;
        messages.send(`<rpc xmlns="${base}" message-id="${id}">${operation}</rpc>`);
        const name = /<([\w-]+)/.exec(operation)?.[1] ?? '';
        const reply = parseXml(await messages.next(name, stop));
        requireDone(reply, endpoint, name);
        return reply;
      },
      isClosed: () => ssh.closedBy() !== undefined,
      close: () => ssh.close(),
    };
  } catch (error) {
    ssh.close();
    throw error;
  }
}

function requireDone(reply: XmlElement, endpoint: string, name: string): void {
  const errors = elementsAt(reply, 'rpc-error').filter((each) => textAt(each, 'error-severity') !== 'warning');
  const [first] = errors;
  if (!first) return;
  const tag = textAt(first, 'error-tag') ?? 'error';
  const words = errors.map(
    (each) => `${textAt(each, 'error-tag')}: ${textAt(each, 'error-message') ?? textAt(each, 'error-path') ?? ''}`,
  );
  const isBusy = tag === 'lock-denied' || tag === 'in-use';
  throw new AppError(
    isBusy ? 'busy' : 'switch_error',
    `switch ${endpoint} refused ${name}: ${shortenAnswer(words.join('; '))}`,
  );
}

function openChannel(ssh: SshClient, endpoint: string): Promise<ClientChannel> {
  return new Promise((resolve, reject) => {
    const forget = ssh.onClose(reject);
    ssh.client.subsys('netconf', (cause, channel) => {
      forget();
      if (cause) reject(new AppError('switch_error', `switch ${endpoint} has no NETCONF over SSH`, { cause }));
      else resolve(channel);
    });
  });
}

interface Messages {
  send(message: string): void;
  /** @param about for the error's text */
  next(about: string, signal: AbortSignal | undefined): Promise<string>;
  useChunks(): void;
}

function receive(ssh: SshClient, channel: ClientChannel, endpoint: string): Messages {
  const unframer = createUnframer(maximumOutputBytes);
  const state: { isChunked: boolean; waiting: ((message: string) => void) | undefined; come: string[] } = {
    isChunked: false,
    waiting: undefined,
    come: [],
  };
  channel.stderr.resume();
  channel.on('close', () => ssh.client.end());
  channel.on('data', (piece: Buffer) => {
    try {
      state.come.push(...unframer.push(piece));
    } catch (error) {
      ssh.close(error as AppError);
    }
    // messages that nobody has asked for are few
    if (state.come.length > 16) ssh.close(new AppError('switch_error', `switch ${endpoint} sends without being asked`));
    if (state.waiting && state.come.length > 0) state.waiting(state.come.shift() ?? '');
  });
  return {
    send: (message) => void channel.write(frame(`<?xml version="1.0" encoding="UTF-8"?>${message}`, state.isChunked)),
    useChunks: () => {
      state.isChunked = true;
      unframer.useChunks();
    },
    next: (about, signal) =>
      new Promise((resolve, reject) => {
        const settle = (): void => {
          clearTimeout(timer);
          forget();
          signal?.removeEventListener('abort', onAbort);
          state.waiting = undefined;
        };
        const fail = (error: AppError): void => {
          settle();
          reject(error);
          ssh.close(); // what comes in later would be taken for another request's answer
        };
        const onAbort = (): void => fail(new AppError('aborted', `a request to switch ${endpoint} was stopped`));
        const timer = setTimeout(() => {
          fail(new AppError('timeout', `switch ${endpoint} did not answer in ${commandTimeoutMs / 1000} s: ${about}`));
        }, commandTimeoutMs);
        const forget = ssh.onClose(fail);
        state.waiting = (message) => {
          settle();
          resolve(message);
        };
        if (signal?.aborted) return onAbort();
        signal?.addEventListener('abort', onAbort, { once: true });
        const [come] = state.come.splice(0, 1);
        if (come !== undefined) state.waiting(come);
      }),
  };
}
