import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';

export interface ReceivedEvent {
  readonly id: string;
  readonly type: string;
  readonly node: { readonly uuid: string; readonly name: string | null } | undefined;
  readonly data: Readonly<Record<string, unknown>>;
  /** Status that it was answered. */
  readonly status: number;
}

/** Somebody's receiver of webhooks on loopback, which checks signatures with the convention's own library. */
export interface WebhookReceiver {
  readonly url: string;
  readonly events: ReceivedEvent[];
  /** Statuses of the next answers; 204 when there are none left. */
  answers: number[];
  /** Until there are so many events nobody is answered: more are on their way than one conductor sends at once. */
  holdsUntil: number;
  /** Secret of the webhook, once it is known. */
  secret: string;
  close(): Promise<void>;
}

export async function startWebhookReceiver(): Promise<WebhookReceiver> {
  const events: ReceivedEvent[] = [];
  const held: (() => void)[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    request.on('end', () => {
      const status = receiver.answers.shift() ?? 204;
      // throws for a signature that is none
      new Webhook(receiver.secret).verify(text, request.headers as Record<string, string>);
      const event = JSON.parse(text) as Omit<ReceivedEvent, 'id' | 'status'>;
      events.push({ ...event, id: String(request.headers['webhook-id']), status });
      response.statusCode = status;
      held.push(() => void response.end());
      if (events.length >= receiver.holdsUntil) for (const answer of held.splice(0)) answer();
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const receiver: WebhookReceiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/events`,
    events,
    answers: [],
    holdsUntil: 0,
    secret: '',
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
  return receiver;
}
