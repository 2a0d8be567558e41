import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { createFaultList, type Fault } from '#test/simulators/redfish/faults.ts';

/** Stands between the conductor and an agent's plain HTTP, and answers in the agent's place what a test wants. */
export interface AgentProxy {
  readonly port: number;
  close(): Promise<void>;
}

export interface AgentFaults {
  /** From the next request that fits. Paths are `/v1/commands/`. */
  inject(fault: Fault): void;
  /** Requests that are still to be answered so. */
  left(): number;
  clear(): void;
  take(method: string, path: string): Fault | undefined;
}

export const createAgentFaults: () => AgentFaults = createFaultList;

/** Forwards to `agentPort` on loopback. */
export async function startAgentProxy(agentPort: number, faults: AgentFaults): Promise<AgentProxy> {
  const server = createServer((incoming, response) => {
    const fault = faults.take(incoming.method ?? 'GET', new URL(incoming.url ?? '/', 'http://agent').pathname);
    if (!fault) void forward(agentPort, incoming, response).catch(() => response.destroy());
    else if (fault.drop) response.destroy();
    else if (!fault.hang) {
      const { status = 200, headers = {}, body = '' } = fault;
      response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    close: () =>
      new Promise((resolve, reject) => {
        server.close((error) => (error ? reject(error) : resolve()));
        server.closeAllConnections();
      }),
  };
}

async function forward(port: number, incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method, url: path, headers } = incoming;
  const outgoing = request({ host: '127.0.0.1', port, method, path, headers });
  const answer = new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.once('response', resolve);
    outgoing.once('error', reject);
  });
  await Promise.all([pipeline(incoming, outgoing), answer]);
  const { statusCode = 502, headers: answered } = await answer;
  response.writeHead(statusCode, answered);
  await pipeline(await answer, response);
}
