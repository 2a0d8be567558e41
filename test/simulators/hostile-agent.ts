import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { peerLimits } from '#shared/peers/peer-limits.ts';
import { type HostileBehaviour, hostileBehaviours, startHostileServer } from '#test/simulators/hostile-server.ts';
import type { startAgentProxy } from '#test/simulators/node/agent-proxy.ts';

const worst = 'answers the worst that is allowed';

/** Answer of a hostile agent to every command: the most that is read to its end, or what no peer should send. */
export type HostileAgentBehaviour = HostileBehaviour | typeof worst;

export const hostileAgentBehaviours = [worst, ...Object.keys(hostileBehaviours)] as readonly HostileAgentBehaviour[];

/**
 * In the place of agents' proxies: the agent looks its node up and heartbeats as all do, and who calls it back gets this.
 * The worst answers are 96 MiB, and made once.
 */
export function createHostileAgents(): (behaviour: HostileAgentBehaviour) => typeof startAgentProxy {
  const answers: WorstAnswers = { steps: worstSteps(), lists: [longestList(), fullestList()] };
  return (behaviour) => () => (behaviour === worst ? startWorstAgent(answers) : startHostileServer(behaviour));
}

interface WorstAnswers {
  readonly steps: Buffer;
  /** Lists of commands, one after the other. */
  readonly lists: readonly Buffer[];
}

const resultOf = (commandResult: string): string =>
  `{"id":"x","command_name":"x","command_status":"SUCCEEDED","command_error":null,"command_result":${commandResult}}`;

/** Steps that all may be: as many as the limit of values has room for, in as many bytes as are read. */
function worstSteps(): Buffer {
  const { bytes, values } = peerLimits.agentSteps;
  const steps = Array.from(
    { length: Math.floor((values - 100) / 11) },
    (_, index) =>
      `{"interface":"deploy","step":"s${index}","priority":50,"reboot_requested":false,"argsinfo":{"a":{}}}`,
  );
  return padded(resultOf(`{"hardware_manager_version":{"x":"1"},"deploy_steps":{"x":[${steps.join(',')}]}}`), bytes);
}

/** One string with an escape in every third character. */
function longestList(): Buffer {
  const bytes = peerLimits.agentCommands.bytes - 1024;
  const [head = '', tail = ''] = `{"commands":[${resultOf('"?"')}]}`.split('?');
  return Buffer.concat([Buffer.from(head), Buffer.alloc(bytes - (bytes % 3), 'x\\n'), Buffer.from(tail)]);
}

/** Objects in objects, as deep and as many as may be. */
function fullestList(): Buffer {
  const { depth, values } = peerLimits.agentCommands;
  const inner = depth - 4;
  const deep = resultOf(`${'{"a":'.repeat(inner)}0${'}'.repeat(inner)}`);
  const count = Math.floor((values - 100) / (2 * inner + 12));
  return Buffer.from(`{"commands":[${Array.from({ length: count }, () => deep).join(',')}]}`);
}

const padded = (text: string, bytes: number): Buffer =>
  Buffer.from(text + ' '.repeat(Math.max(0, bytes - text.length)));

async function startWorstAgent({ steps, lists }: WorstAnswers): ReturnType<typeof startAgentProxy> {
  let turns = 0;
  const server = createServer((incoming, response) => {
    void readAll(incoming).then((asked) => {
      turns += 1;
      const isAboutSteps = /get_[a-z]+_steps/.test(asked);
      const answer = isAboutSteps ? steps : (lists[turns % lists.length] ?? steps);
      response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': answer.length }).end(answer);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function readAll(incoming: IncomingMessage): Promise<string> {
  let text = '';
  try {
    for await (const chunk of incoming) text += String(chunk);
  } catch {
    // hung up
  }
  return text;
}
