import { text as readAll } from 'node:stream/consumers';
import { type DocumentLimits, parseDocuments } from '#conductor/sites/documents/yaml/parse-documents.ts';

/**
 * The process of `parse-upload.ts`: a text comes on standard input, its limits as argument, its documents and faults go to
 * standard output.
 */

void readAll(process.stdin).then((text) => {
  const limits = JSON.parse(process.argv[2] ?? '{}') as Partial<DocumentLimits>;
  process.stdout.write(JSON.stringify(parseDocuments(text, limits)));
});
