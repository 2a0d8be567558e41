import { text as readAll } from 'node:stream/consumers';
import { type DocumentLimits, parseDocuments } from '#conductor/sites/documents/yaml/parse-documents.ts';

/** The process of `parse-upload.ts`: a text comes on standard input, its documents and faults go to standard output. */

interface Task {
  readonly text: string;
  readonly limits: Partial<DocumentLimits>;
}

void readAll(process.stdin).then((input) => {
  const { text, limits } = JSON.parse(input) as Task;
  process.stdout.write(JSON.stringify(parseDocuments(text, limits)));
});
