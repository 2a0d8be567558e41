import { parentPort, workerData } from 'node:worker_threads';
import { type DocumentLimits, parseDocuments } from '#conductor/sites/documents/parse-documents.ts';

/** The thread of `parse-upload.ts`: a text in, its documents and faults out. */

interface Task {
  readonly text: string;
  readonly limits: Partial<DocumentLimits>;
}

const { text, limits } = workerData as Task;
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread's port has no origin
parentPort?.postMessage(parseDocuments(text, limits));
