"""The worker, which carries the workflow out: `python -m examples.temporal`."""

import argparse
import asyncio
from concurrent.futures import ThreadPoolExecutor

from temporalio.client import Client
from temporalio.worker import Worker

from examples.temporal.workflows import OrderWorkflow, order


async def work(address: str) -> None:
    """Carry workflows out until interrupted.

    Args:
        address: Temporal's.
    """
    with ThreadPoolExecutor() as executor:
        worker = Worker(
            await Client.connect(address),
            task_queue="orders",
            workflows=[OrderWorkflow],
            activities=[order],
            activity_executor=executor,
        )
        await worker.run()


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="A worker of examples/temporal.")
    parser.add_argument("--address", default="127.0.0.1:7233")
    asyncio.run(work(parser.parse_args().address))


if __name__ == "__main__":
    main()
