from milepost.cli.app import main

main()
