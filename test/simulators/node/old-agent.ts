import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';
import { CommandList } from '#shared/wire/agent-calls.ts';
import { readRecordings } from '#test/recorded/read-recordings.ts';
import type { startAgentProxy } from '#test/simulators/node/agent-proxy.ts';
import { type RecordedAnswer, readRecordedAnswer } from '#test/support/recorded-answer.ts';

interface SentCommand {
  readonly name: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/** Stands before a simulated agent and takes extensions away from it: what it prints then is what was recorded. */
export interface OldAgent {
  readonly startProxy: typeof startAgentProxy;
  /** Commands that were sent, in order. */
  readonly sent: readonly SentCommand[];
}

const Sent = z.object({ name: z.string(), params: z.record(z.string(), z.unknown()) });

/**
 * @param lacks extensions; without `deploy` images are written by `standby.prepare_image`, and the partitions can't be
 * asked for, as in ironic-python-agent before 6.2
 * @param failing extensions that are there, and whose commands fail with a KeyError
 */
export async function createOldAgent(lacks: readonly string[], failing: readonly string[] = []): Promise<OldAgent> {
  const answers = await readAnswers();
  const sent: SentCommand[] = [];
  const isOld = lacks.includes('deploy');
  const written: unknown[] = [];
  const answerTo = (command: SentCommand): RecordedAnswer | undefined => {
    const [extension = ''] = command.name.split('.');
    if (lacks.includes(extension)) return answers.missing(extension);
    if (failing.includes(extension)) {
      return command.name.endsWith('.is_there') ? answers.unknown('is_there') : answers.missing(extension);
    }
    if (!isOld) return undefined;
    if (command.name === 'standby.get_partition_uuids') return answers.unknown('get_partition_uuids');
    if (command.name === 'image.install_bootloader') return answers.ended('install_bootloader');
    if (command.name !== 'standby.prepare_image') return undefined;
    written.push(answers.prepared);
    return answers.running('prepare_image');
  };
  const startProxy: typeof startAgentProxy = async (port) => {
    // a boot begins with an empty list
    written.length = 0;
    const server = createServer((incoming, response) => {
      void (async () => {
        const body = await textOf(incoming);
        const command = incoming.method === 'POST' ? Sent.parse(JSON.parse(body)) : undefined;
        if (command) sent.push(command);
        const answer = (command && answerTo(command)) ?? (await ask(port, incoming, body));
        const text = command ? answer.body : withCommands(answer.body, written);
        response.writeHead(answer.status, { 'content-type': 'application/json' }).end(text);
      })().catch(() => response.destroy());
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
  };
  return { startProxy, sent };
}

async function readAnswers() {
  const recordings = await readRecordings('agents', z.unknown());
  const textOfAnswer = (name: string, asked: string): string => {
    const found = recordings.find((each) => each.name === `ironic-python-agent/${name}`)?.outputs[asked];
    if (found === undefined) throw new Error(`no recording ${name} of ${asked}`);
    return found;
  };
  const missing = textOfAnswer('9.6-no-service-extension', 'POST service.get_service_steps');
  const unknown = textOfAnswer('6.1-no-partition-uuids', 'POST standby.get_partition_uuids');
  const prepared = CommandList.parse(
    JSON.parse(readRecordedAnswer(textOfAnswer('6.1-image-prepared', 'GET commands')).body),
  ).commands.at(0);
  const result = (name: string, status: string): RecordedAnswer => {
    const command = { ...prepared, command_name: name, command_status: status, command_result: null };
    return { status: 200, headers: {}, body: JSON.stringify(command) };
  };
  return {
    missing: (extension: string) => readRecordedAnswer(missing.replace('id service', `id ${extension}`)),
    unknown: (command: string) => readRecordedAnswer(unknown.replace('get_partition_uuids', command)),
    running: (name: string) => result(name, 'RUNNING'),
    ended: (name: string) => result(name, 'SUCCEEDED'),
    prepared,
  };
}

async function ask(
  port: number,
  { method = 'GET', url = '/' }: { readonly method?: string | undefined; readonly url?: string | undefined },
  body: string,
): Promise<RecordedAnswer> {
  const answer = await fetch(`http://127.0.0.1:${port}${url}`, { method, ...(body === '' ? {} : { body }) });
  return { status: answer.status, headers: {}, body: await answer.text() };
}

function withCommands(list: string, more: readonly unknown[]): string {
  const { commands } = CommandList.parse(JSON.parse(list));
  return JSON.stringify({ commands: [...commands, ...more] });
}

async function textOf(incoming: AsyncIterable<unknown>): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of incoming) parts.push(part as Buffer);
  return Buffer.concat(parts).toString();
}
