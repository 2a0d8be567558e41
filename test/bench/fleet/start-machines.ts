import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { start } from '#shared/process/run.ts';
import { cpuSeconds } from '#test/bench/process-figures.ts';

/** Simulated machines in processes of their own. */
export interface Machines {
  readonly all: readonly Machine[];
  /** A profile, and a node each. */
  readonly documents: string;
  /** From now on every so manieth BMC takes connections and answers nothing. @returns how many */
  killEvery(nth: number): Promise<number>;
  /** From now on `asked` counts. @returns how many BMCs live */
  mark(): Promise<number>;
  /** Living BMCs that have had a request since `mark`. */
  asked(): Promise<number>;
  cpuSeconds(): Promise<number>;
  close(): Promise<void>;
}

type Machine = z.infer<typeof Machine>;

const Machine = z.object({ name: z.string(), mac: z.string(), address: z.string() });
const Started = z.object({ documents: z.string(), machines: z.array(Machine) });
const processes = 4;

export async function startMachines(
  count: number,
  { groups, urls }: { readonly groups: number; readonly urls: readonly string[] },
): Promise<Machines> {
  const share = Math.ceil(count / processes);
  const parts = Array.from({ length: count === 0 ? 0 : Math.ceil(count / share) }, (_, index) =>
    startPart([String(index * share), String(Math.min(count, (index + 1) * share)), String(groups), ...urls]),
  );
  const close = async (): Promise<void> => {
    await Promise.all(parts.map((part) => part.close()));
  };
  const total = async (order: string): Promise<number> => {
    const answers = await Promise.all(parts.map((part) => part.ask(order)));
    return answers.reduce((sum: number, answer) => sum + z.number().parse(answer), 0);
  };
  try {
    const started = await Promise.all(parts.map(async (part) => Started.parse(await part.answer())));
    const [first = '', ...others] = started.map(({ documents }) => documents);
    // each has the profile first
    const nodes = others.map((documents) => documents.slice(documents.indexOf('---\n') + 4));
    return {
      all: started.flatMap(({ machines }) => machines),
      documents: [first, ...nodes].join('---\n'),
      killEvery: (nth) => total(`kill ${nth}`),
      mark: () => total('mark'),
      asked: () => total('asked'),
      cpuSeconds: async () => {
        const each = await Promise.all(parts.map(({ pid }) => cpuSeconds(pid)));
        return each.reduce((sum, seconds) => sum + seconds, 0);
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function startPart(args: readonly string[]) {
  const child = start(process.execPath, [new URL('machines.ts', import.meta.url).pathname, ...args]);
  const said = text(child.stderr);
  const lines = createInterface(child.stdout);
  const answer = async (): Promise<unknown> => {
    const failed = child.exited.then(async (code) => {
      throw new Error(`machines.ts ended with ${code}: ${await said}`);
    });
    const line = once(lines, 'line').then(([printed]) => JSON.parse(String(printed)) as unknown);
    return Promise.race([line, failed]);
  };
  return {
    pid: child.pid,
    answer,
    ask: (order: string): Promise<unknown> => {
      const answered = answer();
      child.stdin.write(`${order}\n`);
      return answered;
    },
    close: async () => {
      child.kill('SIGTERM');
      await child.exited;
    },
  };
}
