import { runConductor } from '#conductor/start/run-conductor.ts';

void runConductor(process.env);
