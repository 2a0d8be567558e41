import type ssh2 from 'ssh2';
import { createUnframer, frame } from '#conductor/networks/switches/netconf/framing.ts';
import { elementsAt, parseXml, type XmlElement } from '#conductor/networks/switches/netconf/xml.ts';

/** A NETCONF server's side of a session: hello, framing, replies. What the operations do is the switch's. */

export interface NetconfFace {
  readonly capabilities: readonly string[];
  readonly open: () => NetconfPeer;
}

export interface NetconfPeer {
  /** Composes the content of the reply: `<ok/>`, data, an `rpc-error`. */
  /** @param text of the whole request, which has the attributes */
  readonly answer: (operation: XmlElement, text: string) => string;
  readonly end: () => void;
}

const namespace = 'urn:ietf:params:xml:ns:netconf:base:1.0';
const counted = { sessions: 0 };

/** @param during runs an operation, unless the connection is to be lost at it */
export function serveNetconf(
  face: NetconfFace,
  channel: ssh2.ServerChannel,
  during: (name: string, work: () => string) => Promise<string | undefined>,
): void {
  const peer = face.open();
  const unframer = createUnframer(16 * 1024 * 1024);
  const state = { isChunked: false, hasGreeted: false, turn: Promise.resolve() };
  counted.sessions += 1;
  const capabilities = face.capabilities.map((each) => `<capability>${each}</capability>`).join('');
  channel.write(
    frame(
      `<hello xmlns="${namespace}"><capabilities>${capabilities}</capabilities><session-id>${counted.sessions}</session-id></hello>`,
      false,
    ),
  );
  channel.on('error', () => undefined);
  channel.on('close', () => peer.end());
  const answer = async (text: string): Promise<void> => {
    const message = parseXml(text);
    const id = /message-id="([^"]*)"/.exec(text)?.[1] ?? '';
    const [operation] = message.children;
    const name = operation?.name ?? '';
    const reply = await during(name, () => {
      if (!operation || name === 'close-session') return '<ok/>';
      return peer.answer(operation, text);
    });
    if (reply === undefined) return;
    channel.write(frame(`<rpc-reply xmlns="${namespace}" message-id="${id}">${reply}</rpc-reply>`, state.isChunked));
    if (name === 'close-session') channel.end();
  };
  channel.on('data', (piece: Buffer) => {
    for (const text of unframer.push(piece)) {
      if (state.hasGreeted) state.turn = state.turn.then(() => answer(text));
      else greet(text);
    }
  });
  const greet = (text: string): void => {
    state.hasGreeted = true;
    const theirs = elementsAt(parseXml(text), 'capabilities', 'capability').map((each) => each.text);
    const chunks = 'urn:ietf:params:netconf:base:1.1';
    if (!theirs.includes(chunks) || !face.capabilities.includes(chunks)) return;
    state.isChunked = true;
    unframer.useChunks();
  };
}

export function rpcError(tag: string, message: string, severity: 'error' | 'warning' = 'error'): string {
  return (
    `<rpc-error><error-type>protocol</error-type><error-tag>${tag}</error-tag><error-severity>${severity}</error-severity>` +
    `<error-message>${message}</error-message></rpc-error>`
  );
}
