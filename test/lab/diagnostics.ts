import { readFileSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';
import type { Lab } from '#test/lab/lab.ts';

/** The ends of the logs that tell why a lab failed: conductor, consoles. */
export function labDiagnostics(lab: Lab, lines = 40): string {
  const files = [
    lab.conductor.logFile,
    ...lab.nodes.flatMap((node) => [node.machine.serialLog, `${lab.directory.path}/${node.name}-bmc.log`]),
  ];
  return [
    `Logs are in ${lab.directory.path}.`,
    ...files.map((file) => `--- the end of ${file}\n${tail(file, lines)}`),
  ].join('\n');
}

function tail(file: string, lines: number): string {
  // consoles move the cursor about and start lines with carriage returns
  const text = stripVTControlCharacters(readFileSync(file, { encoding: 'utf8', flag: 'a+' })).replaceAll('\r', '');
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .slice(-lines)
    .map((line) => line.slice(0, 400))
    .join('\n');
}
